"use strict"

// Texts from sessions, memories and models are untrusted, so this script inserts them as text, never as HTML.

const $ = (id) => document.getElementById(id)

/** Creates an element and assigns members to it, for example element("td", { className: "n" }, "12"). */
function element(name, members = {}, ...children) {
  const made = Object.assign(document.createElement(name), members)
  made.append(...children)
  return made
}

const storage = "magicctx secret"

/** Exchanges the token in the address for the secret, or returns the secret in localStorage. */
async function enter() {
  const token = location.hash.slice(1)
  if (!token || token.startsWith("/")) return localStorage.getItem(storage) // not a token but a page, for example #/memories
  history.replaceState(null, "", location.pathname)
  const answer = await fetch("open", { method: "POST", body: JSON.stringify(token) })
  // The server accepts the token only once. If this browser has used it before, localStorage has the secret.
  if (!answer.ok && localStorage.getItem(storage)) return localStorage.getItem(storage)
  if (!answer.ok) throw new Error(await answer.text())
  const secret = await answer.json()
  localStorage.setItem(storage, secret)
  return secret
}

let secret

/** Shows an error message. An empty text hides the message. */
function tellTrouble(text = "") {
  $("trouble").textContent = text
  $("trouble").hidden = !text
}

async function ask(path, options = {}) {
  const answer = await fetch(path, { ...options, headers: { Authorization: `Bearer ${secret}` } })
  if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status })
  return answer
}

function showState({ status, away }) {
  const sessions = status?.sessions ?? []
  const more = (status?.knownSessions ?? 0) - sessions.length
  $("sentence").textContent = away ?? (sessions.length > 1 ? `${sessions.length} sessions, newest first${more > 0 ? `; ${more} more` : ""}.` : sessions.length ? "One session." : "The host runs, and has seen no session yet.")
  const warnings = status?.warnings ?? []
  $("warnings").hidden = warnings.length === 0
  $("warnings").replaceChildren(...warnings.map((w) => element("li", {}, w.message)))
  const focused = document.activeElement?.closest("section[data-page=''] a")?.hash
  $("sessions").replaceChildren(...sessions.map(card))
  showOthers()
  noticeNews(sessions)
  if (focused) [...document.querySelectorAll(".card a, #others a")].find((a) => a.hash === focused)?.focus({ preventScroll: true })
}

let links = []
let moreLinks = 0

async function readSessions() {
  ;({ links, more: moreLinks } = await (await ask("api/sessions")).json())
  showOthers()
}

/** Lists the sessions that are not live. Live sessions have a card instead. */
function showOthers() {
  const live = new Set([...document.querySelectorAll(".card a")].map((a) => a.hash))
  const others = links.map((l) => ({ ...l, href: addressOf(l) })).filter((l) => !live.has(l.href))
  $("others-box").hidden = others.length === 0
  const lines = others.map((l) => element("li", {}, element("a", { href: l.href }, l.title), element("span", { className: "where" }, l.where)))
  if (moreLinks) lines.push(emptyLine(`and ${moreLinks} older ones; magicctx-host history lists those with summaries`))
  $("others").replaceChildren(...lines)
}

const addressOf = (s) => `#/session/${encodeURIComponent(s.harness)}/${encodeURIComponent(s.session)}`

function card(session) {
  const link = element("a", { href: addressOf(session) }, session.title)
  const children = [element("h3", {}, link), element("p", { className: "where" }, [session.harness, session.model?.id, session.directory].filter(Boolean).join(" · "))]
  return element("article", { className: "card" }, ...children, ...drawPanel(session.panel))
}

/** Draws the panel of a session: the size of the prompt, its parts, and the facts from the host. */
function drawPanel(panel) {
  if (!panel) return []
  const whole = Math.max(panel.window, panel.parts.reduce((sum, part) => sum + part.tokens, 0), 1)
  const share = (tokens) => Math.min(1, tokens / whole)
  const bar = element("div", { className: "parts", ariaHidden: "true" }, ...panel.parts.map((part) => placed("i", part.source, { width: share(part.tokens) })))
  const names = panel.parts.map((part) => element("li", { className: part.source }, `${part.name} ${part.size}`))
  if (panel.bust) {
    bar.append(placed("i", "bust", { left: share(panel.bust) }))
    names.push(element("li", { className: "due" }, "next bust"))
  }
  return [
    element("p", { className: "size" }, panel.size), bar, element("ul", { className: "names", ariaLabel: "What is in the prompt, in tokens" }, ...names),
    element("dl", { className: "panel" }, ...panel.facts.flatMap((fact) => [element("dt", {}, fact.label), element("dd", { className: fact.tone ? `tone-${fact.tone}` : "" }, fact.text)])),
  ]
}

const when = (ms) => new Date(ms).toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "short" }) // for example 2026-11-20 12:01

/**
 * Creates a list entry that shows its details when it is clicked. The function `fill` creates the details on the first
 * click. `key` must be unique in the list.
 */
function opening(columns, fill, key = "") {
  const line = element("summary", {}, ...columns.map(([className, text]) => element("span", { className }, text)))
  const details = element("details", {}, line)
  details.addEventListener("toggle", () => details.append(element("div", { className: "detail" }, ...fill())), { once: true })
  const made = element("li", {}, details)
  made.dataset.key = key
  return made
}

/** Makes the list of facts in a line's details. */
const told = (facts) => element("dl", { className: "told" }, ...facts.map((f) => element("div", {}, element("dt", {}, f.label), element("dd", {}, f.text))))

const emptyLine = (text) => element("li", { className: "more" }, text)

/** The address of the session whose page is drawn. */
let drawn = ""

async function showSession([harness, session]) {
  const of = new URLSearchParams({ harness, session })
  if (drawn !== location.hash) {
    drawn = location.hash
    $("session-title").textContent = session
    for (const id of ["session-where", "panel", "timeline", "busts", "summaries"]) $(id).replaceChildren()
    showKept(null)
  }
  const { title, where, busts, more, kept, summaries, panel, timeline, model } = await (await ask(`api/session?${of}`)).json()
  if (address()[2] !== session) return // meanwhile the person has opened another page
  $("session-title").textContent = title
  $("session-where").textContent = where
  $("panel").replaceChildren(...drawPanel(panel))
  if (timeline) $("timeline").replaceChildren(...drawTimeline(timeline, model))
  const lines = busts.map(bustLine)
  if (more) lines.push(emptyLine(`and ${more} older ones`))
  renew($("busts"), lines.length ? lines : [emptyLine("Nothing yet.")])
  showKept(kept)
  renew($("summaries"), summaries.length ? summaries.map((s) => summaryLine(of, s)) : [emptyLine("No message is summarised yet.")])
  showReplay()
}

/** Draws the chart of a session. It has the same layout as the chart of `magicctx-host replay --html`. */
function drawTimeline(t, model) {
  const parts = [plural(t.Requests, "request"), plural(t.Busts, "bust"), `${t.HitRate} of the prompts from the cache`]
  if (t.Bill) parts.push(`${t.Bill} for the prompts, at the prices of ${model}`)
  const caption = (title, entries) => element("p", { className: "caption" }, element("b", {}, title), ...entries.map(([className, text]) => element("span", { className: `legend ${className}` }, text)))
  const stage = element("div", { className: "stage still", role: "img", ariaLabel: `Chart: ${parts.join(", ")}` })
  const legend = (readings) => readings.map((r) => [r.Name, `${r.Label} ${r.Value}`])
  const each = (how) => (t.Each > 1 ? `, the ${how} of ${t.Each} requests` : "")
  stage.append(caption(`prompt by source, in tokens${each("fullest")}`, legend(t.Parts)), drawPlot("context", t.Context))
  stage.append(caption(`prompt by the provider's cache, in tokens${each("average")}`, legend(t.Legend)), drawPlot("cache", t.Cache))
  if (t.Bill) stage.append(caption("cost up to each request", [["cost", t.Bill]]), drawPlot("costs", t.Costs))
  if (t.Markers.length) stage.append(caption("busts", t.Causes.map((c) => [c.Class, `${c.Cause} ${c.Count}`])), element("div", { className: "plot lane" }, ...t.Markers.map((m) => placed("i", `bust ${m.Class}`, { left: m.At }))))
  stage.append(element("div", { className: "axis" }, element("b", { className: "unit" }, "req."), ...t.Marks.map((m) => placed("b", "", { left: m.At }, m.Label))))
  return [element("p", { className: "facts" }, parts.join(" · ")), stage]
}

const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`

/** Creates an element whose position and size are given as shares of its container, for example { left: 0.25 }. */
function placed(name, className, shares, ...children) {
  const made = element(name, { className }, ...children)
  for (const [side, share] of Object.entries(shares)) made.style[side] = `${(100 * share).toFixed(3)}%`
  return made
}

function drawPlot(name, plot) {
  const space = "http://www.w3.org/2000/svg"
  const svg = document.createElementNS(space, "svg")
  svg.setAttribute("viewBox", `0 0 ${plot.Width} ${plot.Height}`)
  svg.setAttribute("preserveAspectRatio", "none")
  for (const curve of plot.Curves) {
    const path = document.createElementNS(space, "path")
    path.setAttribute("class", curve.Name)
    path.setAttribute("d", curve.Path)
    svg.append(path)
  }
  const grid = plot.Grid.map((g, i) => placed("i", i ? "grid" : "grid zero", { top: g.At }, element("b", {}, g.Label)))
  return element("div", { className: `plot ${name}` }, ...grid, svg)
}

function bustLine(b) {
  const columns = [["pass", `request ${b.request}`], ["cause", b.cause ?? "no longer in the journal"], ["went", b.size ?? ""], ["result", b.at ? when(b.at) : ""]]
  return opening(columns, () => {
    if (!b.pieces.length) return [told(b.facts), diffOf(b.request)]
    const rows = b.pieces.map((p) => element("tr", {}, element("td", { className: "unit" }, p.name), element("td", { className: "n" }, p.tokens), element("td", { className: "rule wide" }, p.rule ?? ""), element("td", { className: "wide" }, p.now), keepCell(p)))
    if (b.more) rows.push(element("tr", {}, element("td", { colSpan: 5 }, `and ${b.more} smaller pieces with ${b.moreTokens} tokens`)))
    const head = [["", "taken piece"], ["n", "tokens"], ["wide", "why"], ["wide", "what stands there now"], ["", element("span", { className: "hidden" }, "actions")]].map(([className, text]) => element("th", { className }, text))
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows))
    return [told(b.facts), element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: `Pieces that request ${b.request} has taken` }, table), diffOf(b.request)]
  }, b.request)
}

const lengths = ["in full", "shorter", "short", "shortest"]

function summaryLine(of, s) {
  const range = s.start === s.end ? `${s.start}` : `${s.start}-${s.end}`
  const columns = [["pass", range], ["cause", s.title], ["went", `${count(s.rawTokens)} tokens`], ["result", `keeps ${Math.round(100 * s.fidelity)}% of the details`]]
  return opening(columns, () => {
    const facts = s.tiers.map((text, i) => ({ label: lengths[i], text })).filter((f) => f.text)
    if (s.missing) facts.push({ label: "missing", text: s.missing })
    facts.push({ label: "made by", text: [s.madeBy, s.model, when(s.createdAt)].filter(Boolean).join(", ") })
    return [told(facts), wordForWord(of, s.start, s.end)]
  }, `${range} ${s.createdAt}`)
}

/** Creates a button that loads and shows the full text of the messages from `first` to `last`. */
function wordForWord(of, first, last) {
  const range = first === last ? `${first}` : `${first}-${last}`
  const offer = element("button", { type: "button" }, `show the messages ${range} word for word`)
  offer.onclick = async () => {
    offer.disabled = true
    try {
      const { text, isCut } = await (await ask(`api/messages?${of}&first=${first}&last=${last}`)).json()
      const shown = element("pre", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: `Messages ${range}` }, text)
      offer.replaceWith(shown)
      if (isCut) shown.after(element("p", {}, "The text goes on: magicctx-host history expand prints all of it."))
    } catch (err) {
      tellTrouble(`The messages ${range} cannot be shown: ${err.message}`)
      offer.disabled = false
    }
  }
  return element("p", {}, offer)
}

let memories = []

/** A memory with the project "user" is about the user, and has no directory. */
const projectName = (m) => (m.project === "user" ? "about you, in all projects" : m.directory || m.project)

async function readMemories() {
  memories = await (await ask("api/memories")).json()
  const chosen = $("project").value
  const projects = [...new Map(memories.map((m) => [m.project, projectName(m)])).entries()].sort((a, b) => a[1].localeCompare(b[1]))
  $("project").replaceChildren(element("option", { value: "" }, "all"), ...projects.map(([value, name]) => element("option", { value }, name)))
  $("project").value = projects.some(([value]) => value === chosen) ? chosen : ""
  showMemories()
}

function showMemories() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean)
  const shown = memories.filter((m) => ($("all").checked || ["active", "proposed"].includes(m.status)) && (!$("project").value || m.project === $("project").value) && words.every((word) => `${m.id} ${m.category} ${m.content}`.toLowerCase().includes(word)))
  $("memories").replaceChildren(...(shown.length ? shown.map(row) : [emptyRow(5, memories.length ? "No memory matches." : "magicctx remembers nothing yet.")]))
}

function row(m) {
  const words = element("td", { className: "words" }, m.content, element("div", { className: "kind" }, (m.project === "user" ? [projectName(m)] : [m.category, m.directory]).filter(Boolean).join(" · ")))
  const act = (name, body) => element("button", { type: "button", onclick: () => change({ id: m.id, ...body }) , ariaLabel: `${name} memory ${m.id}` }, name)
  const isActive = m.status === "active"
  const edit = element("button", { type: "button", ariaLabel: `edit memory ${m.id}`, onclick: () => openEditor(m, words) }, "edit")
  return element("tr", { className: isActive ? "" : "away" },
    element("td", { className: "n" }, String(m.id)), words, element("td", { className: "wide" }, m.source), element("td", {}, m.status + (m.doubt ? `: ${m.doubt}` : "")),
    element("td", { className: "act" }, ...(isActive ? [edit, act("archive", { action: "archive" })] : [act(m.status === "proposed" ? "accept" : "restore", { action: "restore" })])))
}

function openEditor(m, cell) {
  const field = element("textarea", { value: m.content, ariaLabel: `text of memory ${m.id}` })
  field.onkeydown = (event) => { if (event.key === "Escape") showMemories() }
  const save = element("button", { type: "button", onclick: () => change({ id: m.id, action: "edit", content: field.value }) }, "save")
  const cancel = element("button", { type: "button", onclick: showMemories }, "cancel")
  cell.replaceChildren(field, element("div", { className: "act" }, save, " ", cancel))
  field.focus()
}

async function change(body) {
  try {
    await ask("api/memories", { method: "POST", body: JSON.stringify(body) })
    tellTrouble()
    await readMemories()
  } catch (err) {
    tellTrouble(`Memory ${body.id} is unchanged: ${err.message}`)
  }
}

let notes = []

async function readAgents() {
  const page = await (await ask("api/agents")).json()
  notes = page.notes
  $("runs").replaceChildren(...(page.runs.length ? page.runs.map(runLine) : [emptyLine("No agent has run yet.")]))
  showNotes()
}

const emptyRow = (columns, text) => element("tr", {}, element("td", { colSpan: columns }, text))
const button = (text, label, onclick) => element("button", { type: "button", ariaLabel: label, onclick }, text)

function runLine(r) {
  return opening([["pass", r.agent], ["cause", r.of], ["went", r.result], ["result", when(r.at)]], () => {
    const facts = [["task", r.task], ["report", r.report], ["model", r.model], ["took", `${r.took}, ${r.tokens} tokens, ${r.money}`]]
    const offer = r.undoes ? [element("p", {}, afterQuestion("undo", `undo run ${r.undoes}`, "Restore the memories as they were before?", () => undo(r)))] : []
    return [told(facts.filter(([, text]) => text).map(([label, text]) => ({ label, text }))), ...offer]
  })
}

/**
 * Creates a button that asks for confirmation, and then calls `act`. The result of `act`, for example an element,
 * replaces the button. If `act` returns nothing, the button comes back.
 */
function afterQuestion(text, label, question, act) {
  const place = element("span", {})
  const offer = button(text, label, () => {
    const yes = button("yes", `yes: ${label}`, async () => place.replaceChildren((await act()) ?? offer))
    place.replaceChildren(`${question} `, yes, " ", button("no", `no: ${label}`, () => place.replaceChildren(offer)))
    yes.focus()
  })
  place.append(offer)
  return place
}

async function undo(r) {
  try {
    await ask("api/undo", { method: "POST", body: JSON.stringify({ project: r.project, run: r.undoes }) })
    tellTrouble()
    return "undone"
  } catch (err) {
    tellTrouble(`Run ${r.undoes} is not undone: ${err.message}`)
  }
}

const isOpen = (note) => !["done", "dismissed"].includes(note.status)

function showNotes() {
  const shown = notes.filter((n) => isOpen(n) || $("closed").checked)
  $("notes").replaceChildren(...(shown.length ? shown.map(noteRow) : [emptyRow(4, "There are no open notes.")]))
}

function noteRow(n) {
  const origin = n.saidBy ? `said by the ${n.saidBy} in ${n.harness} session ${n.session}, message ${n.message}` : n.condition ? `waits for: ${n.condition}` : `${n.harness} session ${n.session}`
  const close = isOpen(n) ? button("done", `done: note ${n.id}`, () => closeNote(n.id, true)) : button("open again", `open again: note ${n.id}`, () => closeNote(n.id, false))
  return element("tr", { className: isOpen(n) ? "" : "away" },
    element("td", { className: "n" }, String(n.id)), element("td", { className: "words" }, n.content, element("div", { className: "kind" }, [origin, n.reason].filter(Boolean).join(" · "))),
    element("td", {}, n.status), element("td", { className: "act" }, close))
}

async function closeNote(id, isDone) {
  try {
    await ask("api/notes", { method: "POST", body: JSON.stringify({ id, isDone }) })
    tellTrouble()
    notes = (await (await ask("api/agents")).json()).notes
    showNotes()
  } catch (err) {
    tellTrouble(`Note ${id} is unchanged: ${err.message}`)
  }
}

const money = (value) => `$${value.toFixed(value < 10 ? 2 : 0)}`
const count = (n) => n.toLocaleString("en")
const tokensOf = (sum) => sum.inputTokens + sum.outputTokens + sum.cacheReadTokens + sum.cacheWriteTokens

async function readSpend() {
  const { rows, total } = await (await ask("api/spend")).json()
  const price = (sum) => money(sum.money) + (sum.unpricedCalls ? " + unknown prices" : "") + (sum.reserved ? ` + up to ${money(sum.reserved)} under way` : "")
  const result = (sum) => [sum.compartments && `${sum.compartments} summaries`, sum.memories && `${sum.memories} memories`, sum.changes && `${sum.changes} memories changed`].filter(Boolean).join(", ")
  $("spend-total").textContent = rows.length ? `${price(total)} for ${count(total.calls)} calls with ${count(tokensOf(total))} tokens` : "nothing yet"
  $("spend").closest(".scroll").hidden = rows.length === 0
  $("spend").replaceChildren(...rows.map((r) => element("tr", {},
    element("td", {}, r.day), element("td", {}, r.agent), element("td", { className: "wide" }, r.model), element("td", { className: "wide" }, r.directory || r.project),
    element("td", { className: "n" }, count(r.calls)), element("td", { className: "n" }, count(tokensOf(r))), element("td", { className: "n" }, price(r)), element("td", {}, result(r)))))
}

/** Maps the first part of the address, for example "memories" in "#/memories", to the function that shows the page. */
const pages = { "": readSessions, session: showSession, memories: readMemories, workspaces: readWorkspaces, agents: readAgents, costs: readSpend, settings: readSettings }

/** Splits the address, for example "#/session/pi/1234" into ["session", "pi", "1234"]. */
function address() {
  try {
    return location.hash.slice(2).split("/").map(decodeURIComponent)
  } catch {
    return [""] // the address cannot be decoded: the start page appears
  }
}

/** Shows the page of the address. */
async function showPage() {
  const [name, ...rest] = address()
  const shown = Object.hasOwn(pages, name) ? name : ""
  for (const section of document.querySelectorAll("section[data-page]")) section.hidden = section.dataset.page !== shown
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash.slice(2) === shown) link.setAttribute("aria-current", "page")
    else link.removeAttribute("aria-current")
  }
  tellTrouble()
  try {
    await pages[shown](rest)
  } catch (err) {
    tellTrouble(err.message)
  }
}

/**
 * The interval, in ms, at which readAgain reloads data that the event stream does not announce. The data seldom
 * changes, and each reload opens the database.
 */
const rereadMS = 10_000

/** The pages that readAgain may reload. On the other pages, a reload would close details that a person has opened. */
const reread = ["memories", "costs"]

function readAgain() {
  const [name, ...rest] = address()
  if (document.hidden || document.activeElement?.tagName === "TEXTAREA" || !reread.includes(name)) return
  pages[name](rest).catch(() => {})
}

async function run() {
  for (const [id, event] of [["search", "input"], ["project", "change"], ["all", "change"]]) $(id).addEventListener(event, showMemories)
  $("closed").addEventListener("change", showNotes)
  $("new-workspace").addEventListener("submit", createWorkspace)
  for (const [id, event] of [["key", "input"], ["changed", "change"]]) $(id).addEventListener(event, showSettings)
  for (const id of ["harness", "directory"]) $(id).addEventListener("change", showPage)
  try {
    secret = await enter()
    if (!secret) throw new Error("Open the address that magicctx-host dashboard has printed.")
    // If a person opens the printed address in this tab again, only the part after # changes, and the browser does not
    // load the page. So the script reloads it.
    addEventListener("hashchange", () => (location.hash && !location.hash.startsWith("#/") ? location.reload() : showPage()))
    await showPage()
    setInterval(() => isLive && readAgain(), rereadMS)
    await follow()
  } catch (err) {
    $("sentence").textContent = err.message.trim()
  }
}

run()
