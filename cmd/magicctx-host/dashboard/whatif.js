// Replays of a session: what the session would have cost with other settings, and a report for other people.

/** The interval at which the page asks for the progress of a replay, in ms. */
const progressMS = 500

let following

/** Shows the newest replay. While the replay runs, its progress is updated. */
function showReplay() {
  following ??= followReplay().finally(() => (following = undefined))
  return following
}

async function followReplay() {
  try {
    for (;;) {
      const state = await (await ask("api/replay")).json()
      if (address()[0] !== "session") return
      drawReplay(state)
      if (!state.isRunning) return
      await new Promise((done) => setTimeout(done, progressMS))
    }
  } catch (err) {
    tellTrouble(err.message)
  }
}

function drawReplay(state) {
  const [, harness, session] = address()
  const isOwn = state.harness === harness && state.session === session
  for (const id of ["try", "share"]) $(id).disabled = state.isRunning
  $("cancel-replay").hidden = !state.isRunning
  const subject = isOwn ? "The replay" : "A replay of another session"
  $("replay-state").textContent = state.isRunning ? `${subject} runs: ${state.progress} …` : isOwn ? state.error || state.sentence || "" : ""
  const rows = isOwn ? (state.rows ?? []) : []
  $("outcome").closest(".scroll").hidden = rows.length === 0
  $("outcome").replaceChildren(...rows.map((r) => element("tr", {}, element("th", { scope: "row" }, r.name), element("td", { className: "n" }, r.recorded), element("td", { className: "n" }, r.tried))))
}

/** Sends a command, for example { action: "cancel" }, and shows the replay until it ends. */
async function replay(body) {
  const [, harness, session] = address()
  try {
    await ask("api/replay", { method: "POST", body: JSON.stringify({ harness, session, ...body }) })
    tellTrouble()
    await showReplay()
  } catch (err) {
    tellTrouble(err.message)
  }
}

function tryOut(event) {
  event.preventDefault()
  return replay({ action: "what-if", trial: { spending: $("try-spending").value, threshold: Number($("try-threshold").value), window: $("try-window").value.trim(), prices: $("try-prices").value.trim() } })
}

/** Runs a replay that creates the report, and lets the browser download the report. */
async function share() {
  await replay({ action: "share" })
  const [, harness, session] = address()
  const state = await (await ask("api/replay")).json()
  if (state.action !== "share" || state.isRunning || state.error || state.harness !== harness || state.session !== session) return
  const report = await (await ask("api/report", { method: "POST" })).json()
  const link = element("a", { href: URL.createObjectURL(new Blob([report], { type: "text/html" })), download: "magicctx-session.html" })
  link.click()
  URL.revokeObjectURL(link.href)
  $("replay-state").textContent = "Your browser has saved the report. Read it before you send it: it has sizes, busts and bills, but no names, paths or texts."
}

$("what-if").addEventListener("submit", tryOut)
$("share").addEventListener("click", () => share().catch((err) => tellTrouble(err.message)))
$("cancel-replay").addEventListener("click", () => replay({ action: "cancel" }))
