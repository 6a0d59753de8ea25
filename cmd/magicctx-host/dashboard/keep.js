// What the user keeps. A piece that magicctx has put away comes back if it is kept, and stays.

/** The pieces of the shown session that the user keeps. It is null if no host knows the session. */
let kept = null

/** Makes the cell of a piece that was taken. showKept fills it. */
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

/** Makes the button that keeps a piece, or lets it go if the user keeps it. */
function keepButton({ tag, name }) {
  const letGo = kept.some((k) => k.tag === tag)
  // The button is not disabled during the request, because it would lose the focus. A second click does no harm.
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

/** Shows what the user keeps, in the list of kept pieces and beside the taken pieces. */
function showKept(now) {
  kept = now
  const hadFocus = $("kept").contains(document.activeElement)
  $("kept-box").hidden = !kept?.length
  $("kept").replaceChildren(...(kept ?? []).map((k) => element("li", {}, element("b", {}, k.name), element("span", { className: "where" }, `${k.tokens} tokens: ${k.state}`), keepButton(k))))
  for (const cell of document.querySelectorAll("#busts td[data-tag]")) fillKeepCell(cell)
  if (hadFocus) ($("kept").querySelector("button") ?? $("session-title")).focus({ preventScroll: true })
}
