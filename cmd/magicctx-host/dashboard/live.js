// The page follows the host, and connects again after a break.

/**
 * The first and the longest pause between attempts to connect, in ms. Each pause is twice as long as the one before.
 */
const firstPauseMS = 1000
const longestPauseMS = 30_000

const lostText = "No connection to magicctx-host dashboard; this page keeps trying. If the command has ended, start it again, and open the address that it prints."
const otherText = "magicctx-host dashboard was started again. Open the address that it has printed; this page belongs to the old one."

/** Whether the page has the newest state. */
let isLive = false

/** Reads the host's state, and connects again after a lost connection, until the server refuses the secret. */
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

/**
 * Waits for `ms` milliseconds, and then until the page is visible. If the network comes back, the wait ends at once.
 */
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

/** The shortest interval between two reloads of a session's page, in ms. */
const newsMS = 2000

/** The address of the shown session, and its passes, busts and prompt size at the last reload. */
let seen = ""
let reading

/** If the shown session has changed since the last reload, noticeNews schedules another reload. */
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
