import { asError, type Pending } from "./connection.ts"

export class DeadlineExceeded extends Error {
  override name = "DeadlineExceeded"
}

/** Waits for `work`, but not longer than `ms`. After this time, it resolves with undefined. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, Math.max(0, ms), undefined)))
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Returns the answer of a request. At the deadline, or when the signal aborts, it withdraws the request. The timer is
 * not unref'ed, because it may be the only thing that keeps the process alive while a hook waits.
 */
export async function bounded<T>({ answer, cancel }: Pending<T>, deadline: number, signal?: AbortSignal): Promise<T> {
  const timer = setTimeout(() => cancel(new DeadlineExceeded("the host did not answer in time")), Math.max(0, deadline - Date.now()))
  const abort = () => cancel(asError(signal!.reason))
  if (signal?.aborted) abort()
  else signal?.addEventListener("abort", abort, { once: true })
  try {
    return await answer
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener("abort", abort)
  }
}
