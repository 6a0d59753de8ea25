"use strict"
// The page is complete without this script. The script adds the choice of a session and of a pass.

const sessions = [...document.querySelectorAll(".session")]
const money = (x) => (x === 0 ? "$0" : x >= 100 ? "$" + x.toFixed(0) : x >= 0.0995 ? "$" + x.toFixed(2) : x >= 0.00995 ? "$" + x.toFixed(3) : "$" + x.toFixed(4))
const scaled = (x) => (x < 99.95 ? String(Math.round(x * 10) / 10) : x.toFixed(0))
const number = (n) => (n < 1000 ? String(n) : n < 999500 ? scaled(n / 1e3) + "k" : scaled(n / 1e6) + "M")

class Chart {
  constructor(section) {
    this.element = section.querySelector(".chart")
    this.stage = section.querySelector(".stage")
    this.output = section.querySelector(".headline output")
    this.took = section.querySelector(".took")
    this.of = Object.fromEntries([...section.querySelectorAll("[data-of]")].map((e) => [e.dataset.of, e]))
    this.values = [...section.querySelectorAll(".key dd")]
    this.details = new Map([...section.querySelectorAll("details[data-bust]")].map((e) => [Number(e.dataset.bust), e]))
    this.source = section.querySelector('script[type="application/json"]')
    this.stage.addEventListener("pointermove", (e) => this.hover(e))
    this.stage.addEventListener("pointerdown", (e) => this.hover(e))
    this.stage.addEventListener("keydown", (e) => this.key(e))
    this.stage.addEventListener("click", (e) => this.click(e))
    for (const [i, details] of this.details) details.addEventListener("toggle", () => details.open && this.data && this.choose(i))
    for (const button of section.querySelectorAll("button[data-at]")) button.addEventListener("click", () => this.open(Number(button.dataset.at)))
  }

  /** A trace may hold many sessions, so the data of a session is parsed only when the session is first shown. */
  show() {
    if (this.data) return
    this.data = JSON.parse(this.source.textContent)
    this.element.classList.add("ready")
    this.choose(this.data.pass.length - 1)
  }

  choose(i) {
    const d = this.data
    this.at = Math.max(0, Math.min(i, d.pass.length - 1))
    const head = `request ${d.pass[this.at]}, ${d.heads[d.head[this.at]]}`
    this.element.style.setProperty("--at", (this.at + 0.5) / d.width)
    this.output.textContent = head
    this.took.textContent = `${d.ms[this.at].toFixed(2)} ms`
    this.of.plain.textContent = number(d.plain[this.at])
    this.of.prompt.textContent = number(d.values.slice(0, d.parts).reduce((sum, column) => sum + column[this.at], 0))
    this.of.cost.textContent = money(d.cost[this.at])
    this.of.plainCost.textContent = money(d.plainCost[this.at])
    d.values.forEach((column, n) => (this.values[n].textContent = number(column[this.at])))
    this.stage.setAttribute("aria-valuenow", this.at + 1)
    this.stage.setAttribute("aria-valuetext", head)
  }

  open(i) {
    this.choose(i)
    this.element.scrollIntoView({ block: "nearest" })
    this.stage.focus({ preventScroll: true })
  }

  tell(i) {
    const details = this.details.get(i)
    if (!details) return
    details.open = true
    details.scrollIntoView({ block: "nearest" })
    details.querySelector("summary").focus({ preventScroll: true })
  }

  click(event) {
    const lane = this.stage.querySelector(".lane")?.getBoundingClientRect()
    if (lane && event.clientY >= lane.top && event.clientY <= lane.bottom) this.tell(this.passAt(event))
  }

  hover(event) {
    this.pointer = event
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined
      this.choose(this.passAt(this.pointer))
    })
  }

  passAt(event) {
    const plot = this.stage.querySelector(".plot.context").getBoundingClientRect()
    const passes = ((event.clientX - plot.left) / plot.width) * this.data.width
    return this.nearBust(event, passes, (this.data.width / plot.width) * 7) ?? Math.floor(passes)
  }

  /** In the lane of the busts, the pointer selects the nearest bust, even if a pass is very narrow. */
  nearBust(event, passes, reach) {
    const lane = this.stage.querySelector(".lane")?.getBoundingClientRect()
    if (!lane || event.clientY < lane.top || event.clientY > lane.bottom) return undefined
    const distance = (i) => Math.abs(i + 0.5 - passes)
    const nearest = this.data.busts.reduce((best, i) => (best === undefined || distance(i) < distance(best) ? i : best), undefined)
    return nearest !== undefined && distance(nearest) <= Math.max(reach, 0.5) ? nearest : undefined
  }

  key(event) {
    if (event.key === "Enter") {
      event.preventDefault() // otherwise the row that gets the focus would also get the key, and close again
      return this.tell(this.at)
    }
    const { busts, pass } = this.data
    const to = {
      ArrowLeft: () => this.at - 1,
      ArrowDown: () => this.at - 1,
      ArrowRight: () => this.at + 1,
      ArrowUp: () => this.at + 1,
      PageUp: () => busts.findLast((i) => i < this.at),
      PageDown: () => busts.find((i) => i > this.at),
      Home: () => 0,
      End: () => pass.length - 1,
    }[event.key]
    if (!to || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    this.choose(to() ?? this.at)
  }
}

const charts = new Map(sessions.map((section) => [section.id, new Chart(section)]))

function select() {
  const wanted = decodeURIComponent(location.hash.slice(1))
  const shown = charts.has(wanted) ? wanted : sessions[0]?.id
  for (const section of sessions) section.hidden = section.id !== shown
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === "#" + shown) link.setAttribute("aria-current", "true")
    else link.removeAttribute("aria-current")
  }
  charts.get(shown)?.show()
}

for (const link of document.querySelectorAll(".findings a")) {
  link.addEventListener("click", () => {
    const chart = charts.get(link.hash.slice(1))
    if (!chart) return
    location.hash = link.hash
    select()
    chart.open(chart.data.pass.indexOf(Number(link.dataset.pass)))
  })
}
addEventListener("hashchange", select)
select()
