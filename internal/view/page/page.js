"use strict"
// The page is complete without this script; it adds the choice of a session and
// of a pass.

const sessions = [...document.querySelectorAll(".session")]
const number = (n) => (n >= 1e7 ? (n / 1e6).toFixed(1) + "M" : n >= 1e4 ? (n / 1e3).toFixed(1) + "k" : String(n))

class Chart {
  constructor(section) {
    this.element = section.querySelector(".chart")
    this.stage = section.querySelector(".stage")
    this.output = section.querySelector("output")
    this.took = section.querySelector(".took")
    this.plain = section.querySelector(".plain")
    this.values = [...section.querySelectorAll(".key dd:not(.plain)")]
    this.source = section.querySelector('script[type="application/json"]')
    this.stage.addEventListener("pointermove", (e) => this.hover(e))
    this.stage.addEventListener("pointerdown", (e) => this.hover(e))
    this.stage.addEventListener("keydown", (e) => this.key(e))
    for (const button of section.querySelectorAll("button[data-at]")) button.addEventListener("click", () => this.open(Number(button.dataset.at)))
  }

  /** Reads the data when the session is first shown: a trace may hold many. */
  show() {
    if (this.data) return
    this.data = JSON.parse(this.source.textContent)
    this.element.classList.add("ready")
    this.choose(this.data.pass.length - 1)
  }

  choose(i) {
    const d = this.data
    this.at = Math.max(0, Math.min(i, d.pass.length - 1))
    const head = `pass ${d.pass[this.at]}, ${d.heads[d.head[this.at]]}`
    this.element.style.setProperty("--at", (this.at + 0.5) / d.width)
    this.output.textContent = head
    this.took.textContent = `${d.ms[this.at].toFixed(2)} ms`
    this.plain.textContent = number(d.plain[this.at])
    d.values.forEach((column, n) => (this.values[n].textContent = number(column[this.at])))
    this.stage.setAttribute("aria-valuenow", this.at + 1)
    this.stage.setAttribute("aria-valuetext", head)
  }

  open(i) {
    this.choose(i)
    this.element.scrollIntoView({ block: "nearest" })
    this.stage.focus({ preventScroll: true })
  }

  hover(event) {
    this.pointer = event
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined
      const plot = this.stage.querySelector(".plot.context").getBoundingClientRect()
      const passes = ((this.pointer.clientX - plot.left) / plot.width) * this.data.width
      this.choose(this.nearBust(passes, (this.data.width / plot.width) * 7) ?? Math.floor(passes))
    })
  }

  /** In the lane of the busts the pointer finds the nearest one, however narrow a pass is. */
  nearBust(passes, reach) {
    const lane = this.stage.querySelector(".lane")?.getBoundingClientRect()
    if (!lane || this.pointer.clientY < lane.top || this.pointer.clientY > lane.bottom) return undefined
    const distance = (i) => Math.abs(i + 0.5 - passes)
    const nearest = this.data.busts.reduce((best, i) => (best === undefined || distance(i) < distance(best) ? i : best), undefined)
    return nearest !== undefined && distance(nearest) <= Math.max(reach, 0.5) ? nearest : undefined
  }

  key(event) {
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
