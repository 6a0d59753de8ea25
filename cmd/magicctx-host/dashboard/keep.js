// The user can keep a dropped unit. The unit then comes back with the next bust, and is not dropped again.

/** The kept units of the shown session. If no host knows the session, kept is null. */
let kept = null

/** Creates the table cell of a dropped unit. fillKeepCell adds the button "bring back" or "let go". */
function keepCell(p) {
  const cell = element("td", { className: "act" })
  cell.dataset.tag = p.tag
  cell.dataset.name = p.name
  fillKeepCell(cell)
  return cell
}

function fillKeepCell(cell) {
  const hadFocus = cell.contains(document.activeElement)
  cell.replaceChildren(...(kept ? [keepButton({ tag: Number(cell.dataset.tag), name: cell.dataset.name })] : []))
  if (hadFocus) cell.querySelector("button")?.focus({ preventScroll: true })
}

/** Creates a button: "let go" if the user keeps the unit, "bring back" if not. */
function keepButton({ tag, name }) {
  const letGo = kept.some((k) => k.tag === tag)
  // A disabled button would lose the focus, so the button stays enabled. A second click has no effect.
  const act = letGo ? "let go" : "bring back"
  return button(act, `${act}: ${name}`, async () => {
    const [, harness, session] = address()
    try {
      const now = await (await ask("api/keep", { method: "POST", body: JSON.stringify({ harness, session, tags: [tag], letGo }) })).json()
      tellTrouble()
      if (address()[2] === session) showKept(now)
    } catch (err) {
      tellTrouble(`${name} is as before: ${err.message}`)
    }
  })
}

/** Updates the list of kept units, and the buttons of the dropped units. */
function showKept(now) {
  kept = now
  const hadFocus = $("kept").contains(document.activeElement)
  $("kept-box").hidden = !kept?.length
  $("kept").replaceChildren(...(kept ?? []).map((k) => element("li", {}, element("b", {}, k.name), element("span", { className: "where" }, `${k.tokens} tokens: ${k.state}`), keepButton(k))))
  for (const cell of document.querySelectorAll("#busts td[data-tag]")) fillKeepCell(cell)
  if (hadFocus) ($("kept").querySelector("button") ?? $("session-title")).focus({ preventScroll: true })
}
