/** Which sessions have a running turn, and the work that waits for its end. */
export class Turns {
  private readonly busy = new Map<string, Array<() => void>>()

  /** Records that a turn of the session runs. */
  turnRuns(session: string): void {
    if (!this.busy.has(session)) this.busy.set(session, [])
  }

  /** Records that no turn of the session runs. */
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
}
