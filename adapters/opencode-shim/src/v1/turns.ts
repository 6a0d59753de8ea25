export class Turns {
  private readonly busy = new Map<string, Array<() => void>>()

  turnRuns(session: string): void {
    if (!this.busy.has(session)) this.busy.set(session, [])
  }

  turnEnded(session: string): void {
    const waiting = this.busy.get(session) ?? []
    this.busy.delete(session)
    for (const resolve of waiting) resolve()
  }

  isRunning(session: string): boolean {
    return this.busy.has(session)
  }

  idle(session: string): Promise<void> {
    const waiting = this.busy.get(session)
    return waiting ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()
  }
}
