/** Which sessions have a running turn, and the work that waits for a pause in it. */
export class Turns {
  private readonly busy = new Map<string, Array<() => void>>()
  /** Work that waits until a tool of the session ends. */
  private readonly waiting = new Map<string, Set<() => Promise<void>>>()

  /** Notes that a turn of the session runs. */
  turnRuns(session: string): void {
    if (!this.busy.has(session)) this.busy.set(session, [])
  }

  /** Notes that no turn of the session runs. */
  turnEnded(session: string): void {
    const waiting = this.busy.get(session) ?? []
    this.busy.delete(session)
    for (const resolve of waiting) resolve()
  }

  /** Whether a turn of the session runs. */
  isRunning(session: string): boolean {
    return this.busy.has(session)
  }

  /** Resolves when no turn of the session runs. */
  idle(session: string): Promise<void> {
    const waiting = this.busy.get(session)
    return waiting ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()
  }

  /** Runs work when the session has no running turn, unless signal ends the wait. */
  async whenIdle(session: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.idle(session)
    signal.throwIfAborted()
    await work()
  }

  /**
   * Runs work after a tool of the session, while the harness still waits for that tool, or when no turn runs. The very
   * next request then reads a message that work stores. If work stored the message between two steps, the request that
   * is being made could miss it, but its answer would stand behind it. The request after that would find it in the
   * middle of the messages that were already sent.
   */
  beforeNextRequest(session: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.waiting.get(session) ?? new Set()
      this.waiting.set(session, waiting)
      const run = async () => {
        if (!waiting.delete(run)) return // the tool's end and the idle session both called run
        if (waiting.size === 0) this.waiting.delete(session)
        try {
          signal.throwIfAborted()
          resolve(await work())
        } catch (err) {
          reject(err)
        }
      }
      waiting.add(run)
      void this.idle(session).then(run)
    })
  }

  /** A tool of the session has run. The harness waits until this resolves. */
  async toolEnded(session: string): Promise<void> {
    await Promise.all([...(this.waiting.get(session) ?? [])].map((run) => run()))
  }
}
