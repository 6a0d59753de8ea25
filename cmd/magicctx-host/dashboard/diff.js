// The difference that a bust has made, piece by piece.

/** The number of characters that are shown before the first click. */
const shownAtFirst = 600

/** Offers to show what a request has changed. */
function diffOf(request) {
  const [, harness, session] = address()
  const of = new URLSearchParams({ harness, session })
  const place = element("div", { className: "diff" })
  const offer = button("show the changes piece by piece", `show the changes piece by piece: request ${request}`, async () => {
    offer.disabled = true
    try {
      const { changes, more, missing } = await (await ask(`api/diff?${of}&request=${request}`)).json()
      const list = element("ol", { ariaLabel: `Changes of request ${request}`, tabIndex: -1 }, ...changes.map((c) => changeLine(of, c)))
      if (more) list.append(emptyLine(`and ${plural(more, "more change")}`))
      place.replaceChildren(...(missing ? [element("p", { className: "missing" }, missing)] : []), ...(changes.length ? [list] : []))
      list.focus({ preventScroll: true })
    } catch (err) {
      tellTrouble(`The changes of request ${request} cannot be shown: ${err.message}`)
      offer.disabled = false
    }
  })
  place.append(element("p", {}, offer))
  return place
}

function changeLine(of, c) {
  const facts = [c.message && !c.last && `message ${c.message}`, c.freed && `frees ${c.freed} tokens`].filter(Boolean).join(" · ")
  const before = c.last ? [wordForWord(of, c.first, c.last)] : shorten(c.before, `${c.name} before`)
  return element("li", {},
    element("p", { className: "piece" }, element("b", {}, c.name), " ", element("span", { className: "where" }, facts)), element("p", { className: "explain" }, c.why),
    element("div", { className: "sides" }, side("before", before), side("now", shorten(c.after, `${c.name} now`))))
}

const side = (name, children) => element("div", {}, element("p", { className: "where" }, name), ...children)

/** Shows the first characters of a text, and a button that shows the whole text. */
function shorten({ text, more, note }, name) {
  if (note) return [element("p", { className: "missing" }, note)]
  const all = [...text]
  const shown = element("pre", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: name }, all.slice(0, shownAtFirst).join(""))
  const end = more ? `… and ${count(more)} more bytes: magicctx-host history expand prints all` : ""
  if (all.length <= shownAtFirst) return [shown, ...(end ? [element("p", { className: "where" }, end)] : [])]
  shown.append(" …")
  const offer = button(`show ${count(all.length)} characters`, `show ${count(all.length)} characters of ${name}`, () => {
    shown.replaceChildren(text)
    offer.replaceWith(end)
    shown.focus({ preventScroll: true })
  })
  return [shown, element("p", {}, offer)]
}
