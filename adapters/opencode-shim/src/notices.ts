/** How long a notice stays on the screen, in ms. */
export const noticeMS = 6_000

const later = (body: () => void, ms: number) => void setTimeout(body, ms).unref()

/**
 * Notices that wait for the user. OpenCode shows a toast only to clients that are connected at that moment, and
 * replaces it with the next one. So the notices wait until a user is there, and are then shown one after the other. A
 * notice of trouble comes before all others, because the user has to know at once that prompts are sent without
 * magicctx.
 */
export class Notices<T = string> {
  private readonly waiting: Array<() => T> = []
  private hasUser = false
  /** The notice on the screen, undefined if there is none. */
  private shown: (() => T) | undefined

  private readonly show: (notice: T, durationMS: number) => void
  private readonly after: (body: () => void, ms: number) => unknown

  constructor(show: (notice: T, durationMS: number) => void, after: (body: () => void, ms: number) => unknown = later) {
    this.show = show
    this.after = after
  }

  /** Adds a notice. Calls `make` only at the moment at which it shows the notice. */
  add(make: () => T): void {
    this.waiting.push(make)
    this.showNext()
  }

  /** Shows a notice before all waiting ones, as soon as a user is there. Calls `make` only then. */
  addTrouble(make: () => T): void {
    this.waiting.unshift(make)
    this.shown = undefined
    this.showNext()
  }

  /** The user has sent a prompt, so a person is looking at the screen. */
  userIsHere(): void {
    this.hasUser = true
    this.showNext()
  }

  private showNext(): void {
    if (!this.hasUser || this.shown) return
    const make = this.waiting.shift()
    if (make === undefined) return
    this.shown = make
    this.show(make(), noticeMS)
    this.after(() => {
      if (this.shown !== make) return // a notice of trouble has taken its place
      this.shown = undefined
      this.showNext()
    }, noticeMS)
  }
}
