import { asError, type Connection, type Pending } from "./connection.ts"

/** A message that waits for a connection. */
interface Letter {
  send(connection: Connection): void
  fail(reason: Error): void
}

/** If this many messages wait for a connection, new notifications are dropped. */
const longest = 1000

/** The messages that wait for a connection, in the order in which they were made. */
export class Outbox {
  #letters: Letter[] = []

  /**
   * Adds a request. As soon as there is a connection, `send` is called with it, and `answer` resolves with the result
   * of `send`.
   */
  add<T>(send: (connection: Connection) => T): Pending<T> {
    let letter!: Letter
    const answer = new Promise<T>((resolve, reject) => {
      letter = { send: (connection) => resolve(send(connection)), fail: reject }
    })
    this.#letters.push(letter)
    const cancel = (reason: Error) => {
      this.#letters = this.#letters.filter((other) => other !== letter)
      letter.fail(reason)
    }
    return { answer, cancel }
  }

  /** Adds a notification. Drops it if too many messages wait. */
  addNotification(send: (connection: Connection) => void): void {
    if (this.#letters.length < longest) this.#letters.push({ send, fail() {} })
  }

  /** Sends all waiting messages. If a message cannot be sent, only that message fails. */
  sendAll(connection: Connection): void {
    for (const letter of this.#letters.splice(0)) {
      try {
        letter.send(connection)
      } catch (err) {
        letter.fail(asError(err))
      }
    }
  }

  /** Fails all waiting requests, and drops all waiting notifications. */
  failAll(reason: Error): void {
    for (const letter of this.#letters.splice(0)) letter.fail(reason)
  }
}
