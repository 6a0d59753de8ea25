// Shows the settings in force, and lets the user edit those in the user's file.

let settings = []

async function readSettings() {
  const directory = $("directory").value
  const page = await (await ask(`api/settings?${new URLSearchParams({ harness: $("harness").value, directory })}`)).json()
  settings = page.settings
  $("directory").replaceChildren(element("option", { value: "" }, "none: your own file only"), ...page.directories.map((d) => element("option", { value: d }, d)))
  $("directory").value = directory
  $("mistakes").replaceChildren(...page.warnings.map((text) => element("li", {}, text)))
  $("mistakes").hidden = page.warnings.length === 0
  $("written").textContent = ""
  showSettings()
}

function showSettings() {
  const word = $("key").value.toLowerCase().trim()
  const shown = settings.filter((s) => (!$("changed").checked || s.place) && `${s.key} ${s.value}`.toLowerCase().includes(word))
  $("settings").replaceChildren(...(shown.length ? shown.map(settingRow) : [emptyRow(3, "No key matches.")]))
}

function settingRow(s) {
  const value = element("td", { className: "words" }, s.value, element("div", { className: "kind" }, s.place || "default"))
  const edit = button("edit", `edit ${s.key}`, () => editSetting(s, value))
  return element("tr", { className: s.place ? "" : "away" }, element("td", { className: "words" }, s.key), value, element("td", { className: "act" }, edit))
}

/** Replaces the content of a table cell with a form for a new value. */
function editSetting(s, cell) {
  const label = `value of ${s.key}`
  const field = s.choices ? element("select", { ariaLabel: label }, ...s.choices.map((c) => element("option", { value: c }, c))) : element("textarea", { ariaLabel: label, spellcheck: false })
  field.value = isJSON(s.value) ? s.value : ""
  const place = element("div", { className: "change" })
  const see = (value) => seeChange({ harness: $("harness").value, directory: $("directory").value, key: s.key, value }, place)
  const buttons = [button("see the change", `see the change of ${s.key}`, () => see(field.value))]
  if (s.place) buttons.push(button("remove it from your file", `remove it from your file: ${s.key}`, () => see(null)))
  buttons.push(button("cancel", `cancel: ${s.key}`, showSettings))
  cell.replaceChildren(element("div", { className: "kind" }, `takes ${s.takes}${s.choices || s.takes.includes("number") ? "" : ", as JSON"}`), field, element("div", { className: "act" }, ...buttons), place)
  cell.onkeydown = (event) => { if (event.key === "Escape") showSettings() }
  field.focus()
}

function isJSON(text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const sendSetting = async (change) => (await ask("api/settings", { method: "POST", body: JSON.stringify(change) })).json()

/** Shows the diff and the effects of a change before the user's file is written. */
async function seeChange(change, place) {
  try {
    const plan = await sendSetting(change)
    tellTrouble()
    const lines = plan.diff.split("\n").filter(Boolean).slice(2).map((line) => element("span", { className: { "+": "plus", "-": "minus" }[line[0]] ?? "" }, `${line}\n`))
    const diff = lines.length ? element("pre", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: `Change of ${plan.file}` }, ...lines) : element("p", {}, "The value may be a secret, so it is not shown.")
    const effects = plan.effects.map((e) => element("li", {}, `${e.key}: ${e.from} → ${e.to}`))
    const told = effects.length ? [element("p", {}, plan.when), element("ul", { ariaLabel: "Settings that change" }, ...effects)] : [element("p", {}, "No setting that is in force here changes: a project's file sets it, too, or it has this value already.")]
    const write = button("write it", `write it: ${change.key}`, () => writeSetting({ ...change, seen: plan.version }))
    place.replaceChildren(element("p", {}, `Change of ${plan.file}:`), diff, ...told, element("p", {}, write))
    write.focus()
  } catch (err) {
    place.replaceChildren()
    tellTrouble(err.message)
  }
}

async function writeSetting(change) {
  try {
    const { file, when } = await sendSetting(change)
    tellTrouble()
    await readSettings()
    $("written").textContent = `${file} is written. ${when}`
  } catch (err) {
    tellTrouble(`Nothing is written: ${err.message}`)
  }
}
