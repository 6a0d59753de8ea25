// The page follows the host, and connects again after a break.

/** The pauses between two attempts to connect, in ms: each is twice as long as the one before. */
const firstPauseMS = 1000
const longestPauseMS = 30_000

const lostText = "No connection to magicctx-host dashboard; this page keeps trying. If the command has ended, start it again, and open the address that it prints."
const otherText = "magicctx-host dashboard was started again. Open the address that it has printed; this page belongs to the old one."

/** Whether the page has the newest state. */
let isLive = false

/** Follows the host as long as the page is open. */
async function follow() {
  for (let pause = firstPauseMS; ; ) {
    let isRefused = false
    try {
      await readStates(() => (pause = firstPauseMS))
    } catch (err) {
      isRefused = [401, 404].includes(err.status) // each dashboard has another path
    }
    isLive = false
    $("lost").textContent = isRefused ? otherText : lostText
    $("lost").hidden = false
    if (isRefused) return
    await waits(pause)
    pause = Math.min(2 * pause, longestPauseMS)
  }
}

/** Reads the server-sent events of the host's state, until the connection ends. */
async function readStates(connected) {
  const reader = (await ask("api/state")).body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    text += value
    const events = text.split("\n\n")
    text = events.pop()
    if (!events.length) continue
    connected()
    const wasLost = !$("lost").hidden
    $("lost").hidden = isLive = true
    if (wasLost) readAgain()
    showState(JSON.parse(events.at(-1).slice("data: ".length)))
  }
}

/** Waits for a time in ms, and then until the page is visible. The wait ends at once if the network comes back. */
function waits(ms) {
  return new Promise((go) => {
    const over = new AbortController()
    const on = (target, event, then) => target.addEventListener(event, then, { signal: over.signal })
    const end = () => {
      over.abort()
      clearTimeout(timer)
      go()
    }
    const timer = setTimeout(() => (document.hidden ? on(document, "visibilitychange", end) : end()), ms)
    on(window, "online", end)
  })
}

/** The shortest time between two readings of a session's page, in ms. */
const newsMS = 2000

/** The session whose page is shown, with the sizes for which the page was last read or is about to be read. */
let seen = ""
let reading

/** Reads the shown session's page again if the session has gone on. */
function noticeNews(sessions) {
  const shown = sessions.find((s) => addressOf(s) === location.hash)
  const size = shown ? `${location.hash} ${shown.passes} ${shown.busts} ${shown.inputTokens}` : ""
  if (!shown || size === seen) return
  seen = size
  reading ??= setTimeout(() => {
    reading = undefined
    const [name, ...rest] = address()
    if (name === "session") showSession(rest).catch((err) => tellTrouble(err.message))
  }, newsMS)
}

/** Fills a list with new lines. Lines that a person has opened stay as they are, and the focus stays where it is. */
function renew(list, lines) {
  const focused = list.contains(document.activeElement) ? document.activeElement.closest("li").dataset.key : undefined
  const open = new Map([...list.children].filter((li) => li.querySelector(":scope > details[open]")).map((li) => [li.dataset.key, li]))
  const keys = new Set(lines.map((line) => line.dataset.key))
  for (const li of [...list.children]) if (!open.has(li.dataset.key) || !keys.has(li.dataset.key)) li.remove()
  let next = list.firstChild
  for (const line of lines) {
    const stays = open.get(line.dataset.key)
    if (stays) next = stays.nextSibling
    else list.insertBefore(line, next)
  }
  if (focused && !list.contains(document.activeElement)) [...list.children].find((li) => li.dataset.key === focused)?.querySelector("summary").focus({ preventScroll: true })
}
