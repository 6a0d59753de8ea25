/**
 * How long a toast shows a text: between 6 and 15 s. Within these bounds, a person who reads three words a second can
 * read it all.
 */
export const noticeMS = (text: string) => Math.min(Math.max(6_000, text.split(/\s+/).length * 333), 15_000)

const later = (body: () => void, ms: number) => void setTimeout(body, ms).unref()

/**
 * Shows notices as toasts, one after the other. OpenCode shows a toast only to connected clients, and a new toast
 * replaces the previous one. So notices wait until a user is there and the previous notice is over. A notice of trouble
 * comes first, because it says that prompts are sent without magicctx.
 */
export class Notices<T extends string | { message: string } = string> {
  private readonly waiting: Array<() => T> = []
  private hasUser = false
  private shown: (() => T) | undefined

  private readonly show: (notice: T, durationMS: number) => void
  private readonly after: (body: () => void, ms: number) => unknown

  constructor(show: (notice: T, durationMS: number) => void, after: (body: () => void, ms: number) => unknown = later) {
    this.show = show
    this.after = after
  }

  /** Calls `make` only when the notice is shown. */
  add(make: () => T): void {
    this.waiting.push(make)
    this.showNext()
  }

  /** Shows a notice at once: before all waiting notices, and in place of the notice on the screen. */
  addTrouble(make: () => T): void {
    this.waiting.unshift(make)
    this.shown = undefined
    this.showNext()
  }

  userIsHere(): void {
    this.hasUser = true
    this.showNext()
  }

  private showNext(): void {
    if (!this.hasUser || this.shown) return
    const make = this.waiting.shift()
    if (make === undefined) return
    this.shown = make
    const notice = make()
    const ms = noticeMS(typeof notice === "string" ? notice : notice.message)
    this.show(notice, ms)
    this.after(() => {
      if (this.shown !== make) return // a notice of trouble has replaced this notice
      this.shown = undefined
      this.showNext()
    }, ms)
  }
}
