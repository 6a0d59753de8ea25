// The workspaces: groups of projects that share memories.

async function readWorkspaces() {
  const page = await (await ask("api/workspaces")).json()
  $("workspaces").replaceChildren(...(page.workspaces.length ? page.workspaces.map((w) => workspaceCard(w, page)) : [element("p", {}, "There is no workspace: each project sees only its own memories.")]))
}

function workspaceCard(w, page) {
  const shares = page.categories.map((category) => {
    const box = element("input", { type: "checkbox", checked: w.shares.includes(category) })
    box.onchange = () => changeWorkspace({ action: "set", name: w.name, shares: page.categories.filter((c) => (c === category ? box.checked : w.shares.includes(c))) })
    return element("label", {}, box, ` ${category}`)
  })
  const members = w.members.map((m) => element("li", {}, `${m.name} `, element("span", { className: "where" }, m.project), " ", afterQuestion("take out", `take out ${m.name}`, "It no longer sees the others' memories.", () => changeWorkspace({ action: "leave", project: m.project }))))
  const directory = element("select", { ariaLabel: `directory of a project for ${w.name}` }, ...page.directories.map((d) => element("option", { value: d }, d)))
  const join = page.directories.length ? [element("p", { className: "controls" }, directory, button("add project", `add project to ${w.name}`, () => changeWorkspace({ action: "join", name: w.name, directory: directory.value })))] : []
  return element("article", { className: "card detail" }, element("h3", {}, w.name), element("p", { className: "where" }, "shares"), element("p", { className: "controls" }, ...shares),
    element("ul", { className: "others", ariaLabel: `Projects of ${w.name}` }, ...(members.length ? members : [emptyLine("no project yet")])), ...join,
    element("p", {}, afterQuestion("remove workspace", `remove workspace ${w.name}`, "Its projects keep their own memories.", () => changeWorkspace({ action: "remove", name: w.name }))))
}

async function changeWorkspace(change) {
  try {
    await ask("api/workspaces", { method: "POST", body: JSON.stringify(change) })
    tellTrouble()
  } catch (err) {
    tellTrouble(`The workspaces are unchanged: ${err.message}`)
  }
  await readWorkspaces()
}

function createWorkspace(event) {
  event.preventDefault()
  const name = $("workspace-name").value
  $("workspace-name").value = ""
  return changeWorkspace({ action: "set", name, shares: ["CONSTRAINTS"] })
}
