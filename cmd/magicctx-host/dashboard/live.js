// The page follows the host.

/** The shortest time between two readings of a session's page, in ms. */
const newsMS = 2000

/** The size of the session whose page is shown, when the page was last read or will be. */
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

/** Fills a list with new lines. Those that a person has opened stay as they are, and the focus stays. */
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
