/** How long a notice stays on the screen, in ms. */
export const noticeMS = 6_000

const later = (body: () => void, ms: number) => void setTimeout(body, ms).unref()

/**
 * Notices that wait for the user. OpenCode shows a toast only to clients that are connected at that moment, and
 * replaces it by the next one. So the notices wait until a user is there, and then show one after the other.
 */
export class Notices {
  private readonly waiting: Array<() => string> = []
  private hasUser = false
  private isShowing = false

  private readonly show: (text: string, durationMS: number) => void
  private readonly after: (body: () => void, ms: number) => unknown

  constructor(show: (text: string, durationMS: number) => void, after: (body: () => void, ms: number) => unknown = later) {
    this.show = show
    this.after = after
  }

  /** Adds a notice. Its text is asked for when it is shown. */
  add(text: () => string): void {
    this.waiting.push(text)
    this.showNext()
  }

  /** The user has sent a prompt, so somebody looks at the screen. */
  userIsHere(): void {
    this.hasUser = true
    this.showNext()
  }

  private showNext(): void {
    if (!this.hasUser || this.isShowing) return
    const text = this.waiting.shift()
    if (text === undefined) return
    this.isShowing = true
    this.show(text(), noticeMS)
    this.after(() => {
      this.isShowing = false
      this.showNext()
    }, noticeMS)
  }
}
