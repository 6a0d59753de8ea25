"use strict"

// All texts of sessions, memories and models are put into the page as text, never as markup.

const $ = (id) => document.getElementById(id)

/** Makes an element with the given members, for example element("td", { className: "n" }, "12"). */
function element(name, members = {}, ...children) {
  const made = Object.assign(document.createElement(name), members)
  made.append(...children)
  return made
}

const storage = "magicctx secret"

/** Exchanges the token in the address for the secret, or uses the one that this origin has kept. */
async function enter() {
  const token = location.hash.slice(1)
  if (!token) return localStorage.getItem(storage)
  history.replaceState(null, "", "/")
  const answer = await fetch("/open", { method: "POST", body: JSON.stringify(token) })
  // The address works once, and this browser may be the one that has used it.
  if (!answer.ok && localStorage.getItem(storage)) return localStorage.getItem(storage)
  if (!answer.ok) throw new Error(await answer.text())
  const secret = await answer.json()
  localStorage.setItem(storage, secret)
  return secret
}

let secret

async function ask(path, options = {}) {
  const answer = await fetch(path, { ...options, headers: { Authorization: `Bearer ${secret}` } })
  if (!answer.ok) throw new Error(await answer.text())
  return answer
}

/** Reads the server-sent events of the host's state, until the server ends. */
async function follow() {
  const reader = (await ask("/api/state")).body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    text += value
    const events = text.split("\n\n")
    text = events.pop()
    if (events.length) showState(JSON.parse(events.at(-1).slice("data: ".length)))
  }
}

function showState({ status, away }) {
  const sessions = status?.sessions ?? []
  $("sentence").textContent = away ?? (sessions.length > 1 ? `${sessions.length} sessions, newest first.` : sessions.length ? "One session." : "The host runs, and has seen no session yet.")
  const warnings = status?.warnings ?? []
  $("warnings").hidden = warnings.length === 0
  $("warnings").replaceChildren(...warnings.map((w) => element("li", {}, w.message)))
  $("sessions").replaceChildren(...sessions.map(card))
}

function card(session) {
  const { panel } = session
  const children = [element("h3", {}, session.title || session.session), element("p", { className: "where" }, [session.harness, session.model?.id, session.directory].filter(Boolean).join(" · "))]
  if (panel) {
    const whole = Math.max(panel.window, panel.parts.reduce((sum, part) => sum + part.tokens, 0), 1)
    const share = (tokens) => `${(100 * Math.min(1, tokens / whole)).toFixed(2)}%`
    const bar = element("div", { className: "parts", ariaHidden: "true" })
    for (const part of panel.parts) {
      const piece = element("i", { className: part.source })
      piece.style.width = share(part.tokens)
      bar.append(piece)
    }
    if (panel.bust) {
      const mark = element("i", { className: "bust" })
      mark.style.left = share(panel.bust)
      bar.append(mark)
    }
    children.push(
      element("p", { className: "size" }, panel.size), bar,
      element("ul", { className: "names", ariaLabel: "What is in the prompt, in tokens" }, ...panel.parts.map((part) => element("li", { className: part.source }, `${part.name} ${part.size}`))),
      element("dl", {}, ...panel.facts.flatMap((fact) => [element("dt", {}, fact.label), element("dd", { className: fact.tone ? `tone-${fact.tone}` : "" }, fact.text)])),
    )
  }
  return element("article", { className: "card" }, ...children)
}

let memories = []

async function readMemories() {
  memories = await (await ask("/api/memories")).json()
  const chosen = $("project").value
  const projects = [...new Map(memories.map((m) => [m.project, m.directory || m.project])).entries()].sort((a, b) => a[1].localeCompare(b[1]))
  $("project").replaceChildren(element("option", { value: "" }, "all"), ...projects.map(([value, name]) => element("option", { value }, name)))
  $("project").value = projects.some(([value]) => value === chosen) ? chosen : ""
  showMemories()
}

function showMemories() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean)
  const shown = memories.filter((m) => ($("all").checked || ["active", "proposed"].includes(m.status)) && (!$("project").value || m.project === $("project").value) && words.every((word) => `${m.id} ${m.category} ${m.content}`.toLowerCase().includes(word)))
  $("memories").replaceChildren(...(shown.length ? shown.map(row) : [element("tr", {}, element("td", { colSpan: 5 }, memories.length ? "No memory matches." : "magicctx remembers nothing yet."))]))
}

function row(m) {
  const words = element("td", { className: "words" }, m.content, element("div", { className: "kind" }, [m.category, m.directory].filter(Boolean).join(" · ")))
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
    await ask("/api/memories", { method: "POST", body: JSON.stringify(body) })
    $("trouble").hidden = true
    await readMemories()
  } catch (err) {
    $("trouble").textContent = `Memory ${body.id} is unchanged: ${err.message}`
    $("trouble").hidden = false
  }
}

const money = (value) => `$${value.toFixed(value < 10 ? 2 : 0)}`
const count = (n) => n.toLocaleString("en")
const tokensOf = (sum) => sum.inputTokens + sum.outputTokens + sum.cacheReadTokens + sum.cacheWriteTokens

async function readSpend() {
  const { rows, total } = await (await ask("/api/spend")).json()
  const price = (sum) => money(sum.money) + (sum.unpricedCalls ? " + unknown prices" : "") + (sum.reserved ? ` + up to ${money(sum.reserved)} under way` : "")
  const result = (sum) => [sum.compartments && `${sum.compartments} summaries`, sum.memories && `${sum.memories} memories`].filter(Boolean).join(", ")
  $("spend-total").textContent = rows.length ? `${price(total)} for ${count(total.calls)} calls with ${count(tokensOf(total))} tokens` : "nothing yet"
  $("spend").closest(".scroll").hidden = rows.length === 0
  $("spend").replaceChildren(...rows.map((r) => element("tr", {},
    element("td", {}, r.day), element("td", {}, r.agent), element("td", { className: "wide" }, r.model), element("td", { className: "wide" }, r.directory || r.project),
    element("td", { className: "n" }, count(r.calls)), element("td", { className: "n" }, count(tokensOf(r))), element("td", { className: "n" }, price(r)), element("td", {}, result(r)))))
}

/** How often memories and costs are read again, in ms. They change seldom, and their reading opens the database. */
const rereadMS = 10_000

async function run() {
  for (const [id, event] of [["search", "input"], ["project", "change"], ["all", "change"]]) $(id).addEventListener(event, showMemories)
  try {
    secret = await enter()
    if (!secret) throw new Error("Open the address that magicctx-host dashboard has printed.")
    await Promise.all([readMemories(), readSpend()])
    setInterval(() => {
      if (document.hidden || document.activeElement?.tagName === "TEXTAREA") return
      readMemories().catch(() => {})
      readSpend().catch(() => {})
    }, rereadMS)
    await follow()
    $("sentence").textContent = "magicctx-host dashboard has ended."
  } catch (err) {
    $("sentence").textContent = err.message.trim()
  }
}

run()
