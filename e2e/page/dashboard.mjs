// Uses the dashboard as a person does, and says what is wrong with it. Prints a line when it has seen the first state.
//
//   node dashboard.mjs CHROMIUM URL SCREENS
import { mkdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { launch, watch } from "./chrome.mjs"

const [executablePath, url, screens] = process.argv.slice(2)
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8") // finds what hinders people with a screen reader
mkdirSync(screens, { recursive: true })
const browser = await launch(executablePath)
const problems = []
const check = (what, isRight) => isRight || problems.push(what)
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const origin = new URL(url).origin
  watch(page, origin, problems)
  await page.goto(url)
  await page.evaluate(axe)
  check("the token stays in the address", !page.url().includes("#"))

  await page.getByText("45% of 200k").waitFor()
  check("two sessions are two cards", (await page.locator(".card").count()) === 2)
  await page.locator(".card h3 a").first().focus()
  console.log("seen")
  await page.getByText("46% of 200k").waitFor()
  check("a new state takes the focus", await page.locator(".card h3 a").evaluate((a) => a === document.activeElement))
  check("a session that has gone stays", (await page.locator(".card").count()) === 1)
  check("the warning is not shown", await page.locator("#warnings li").isVisible())

  /** Looks at the shown page in all sizes and colours, and goes back to the first. */
  const look = async (name) => {
    for (const [width, height, colorScheme] of [[400, 800, "dark"], [400, 800, "light"], [1280, 900, "dark"], [1280, 900, "light"]]) {
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme })
      check(`${name} is wider than ${width} px`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
      await page.screenshot({ path: join(screens, `dashboard-${name}-${width}x${height}-${colorScheme}.png`), fullPage: true })
    }
    const { violations } = await page.evaluate(() => axe.run()) // first in the light page, then in the dark one
    await page.emulateMedia({ colorScheme: "dark" })
    violations.push(...(await page.evaluate(() => axe.run())).violations)
    await page.emulateMedia({ colorScheme: "light" })
    for (const v of violations) if (["serious", "critical"].includes(v.impact)) problems.push(`${name}: ${v.help}: ${v.nodes.map((n) => n.html).join(" ")}`.slice(0, 500))
    check(`${name}: texts become markup`, (await page.locator("main img, main script").count()) === 0)
  }
  await page.locator("#others a").waitFor()
  check("only the session without a card is another one", (await page.locator("#others").textContent()).startsWith("ses_old"))
  await look("sessions")

  await page.locator(".card h3 a").focus()
  await page.keyboard.press("Enter")
  await page.getByText("request 2").waitFor()
  const busts = page.locator("#busts details")
  check("two busts are two lines", (await busts.count()) === 2)
  await busts.nth(1).locator("summary").focus()
  await page.keyboard.press("Enter")
  await page.getByText("pays off in 3 requests").waitFor()
  check("a dropped piece has no name", await page.getByText("§2§ read </script>").isVisible())
  await page.getByRole("button", { name: "keep: §2§ read" }).focus()
  await page.keyboard.press("Enter")
  await page.locator("#kept", { hasText: "it comes back when the provider has to read the prompt again anyway" }).waitFor()
  check("a kept piece takes the focus", await page.locator("#busts button", { hasText: "let go" }).evaluate((e) => e === document.activeElement))
  await page.getByRole("button", { name: "show the changes piece by piece: request 2" }).click()
  await page.getByText("Old tool output, the oldest first").waitFor()
  check("a piece that is gone has no sign", await page.locator("#busts .missing", { hasText: "not sent" }).isVisible())
  check("a long text is shown whole", (await page.locator("#busts .sides pre").first().textContent()).length < 700)
  await page.getByRole("button", { name: /characters of §2§ read/ }).click()
  check("a long text stays cut", (await page.locator("#busts .sides pre").first().textContent()).length > 3000)
  await busts.nth(0).locator("summary").click()
  await page.getByText("Now summarised in").waitFor()
  await page.locator("#summaries summary").click()
  await page.getByText("Asked and answered.").waitFor()
  await page.getByRole("button", { name: "show the messages 1-2" }).click()
  await page.getByText("[1] user: word for word").waitFor()
  check("the chart has no curves", (await page.locator("#timeline path").count()) === 4)
  check("two busts are two marks", (await page.locator("#timeline .bust").count()) === 2)
  await look("session")
  await page.locator("#kept").getByRole("button", { name: "let go: §2§ read" }).click()
  await page.locator("#kept").waitFor({ state: "hidden" })
  check("a piece that was let go cannot be kept", await page.locator("#busts button", { hasText: "keep" }).isVisible())

  await page.getByRole("link", { name: "Memories" }).click()
  const rows = page.locator("#memories tr")
  await page.getByText("the zebra sleeps").waitFor()
  check("four memories are four rows", (await rows.count()) === 4)
  await page.getByLabel("Project").selectOption("about you, in all projects")
  check("a project has the memories of others", (await rows.count()) === 1)
  await page.getByLabel("Project").selectOption("all")
  await page.locator("#search").fill("giraffe gil")
  check("a search finds one memory", (await rows.count()) === 1)
  await page.getByRole("button", { name: "archive memory 3" }).click()
  await page.getByText("No memory matches.").waitFor()
  await page.getByLabel("also archived").check()
  await page.getByRole("button", { name: "restore memory 3" }).waitFor()
  await page.locator("#search").fill("")
  await page.getByRole("button", { name: "edit memory 1" }).click()
  await page.getByLabel("text of memory 1").fill(" ")
  await page.getByRole("button", { name: "save" }).click()
  await page.getByText(/Memory 1 is unchanged/).waitFor()
  await page.getByLabel("text of memory 1").fill("the zebra sleeps at night")
  await page.getByRole("button", { name: "save" }).click()
  await page.getByText("the zebra sleeps at night").waitFor()

  await look("memories")

  await page.getByRole("link", { name: "Workspaces" }).click()
  await page.getByLabel("New workspace").fill("<img src=x>")
  await page.keyboard.press("Enter")
  await page.getByRole("button", { name: "add project to <img src=x>" }).click()
  await page.getByLabel("NAMING").check()
  await page.getByRole("button", { name: "take out project" }).waitFor()
  check("a shared category is not kept", await page.getByLabel("NAMING").isChecked())
  await look("workspaces")
  await page.getByRole("button", { name: "take out project" }).click()
  await page.getByRole("button", { name: "yes: take out project" }).click()
  await page.getByText("no project yet").waitFor()
  await page.getByRole("button", { name: "remove workspace" }).focus()
  await page.keyboard.press("Enter")
  await page.keyboard.press("Enter") // the question has the focus
  await page.getByText("There is no workspace").waitFor()

  await page.getByRole("link", { name: "Agents and notes" }).click()
  await page.locator("#runs summary", { hasText: "dreamer" }).click()
  await page.getByText("The dreamer has archived 1 memory.").waitFor()
  await page.getByRole("button", { name: "undo run 1" }).click()
  await look("agents")
  await page.getByRole("button", { name: "keep: the changes" }).click()
  await page.getByRole("button", { name: "undo run 1" }).focus()
  await page.keyboard.press("Enter")
  await page.keyboard.press("Enter") // the question has the focus
  await page.getByText("undone", { exact: true }).waitFor()
  await page.getByRole("button", { name: "done: note 1" }).click()
  await page.getByText("There are no open notes.").waitFor()
  await page.getByLabel("also done").check()
  await page.getByRole("button", { name: "open again: note 1" }).click()
  await page.getByRole("button", { name: "done: note 1" }).waitFor()

  await page.getByRole("link", { name: "Costs" }).click()
  await page.getByText("nothing yet").waitFor()
  await look("costs")

  await page.getByRole("link", { name: "Settings" }).click()
  await page.getByText("ctx_reduce_enabled").waitFor()
  await page.locator("#directory").selectOption("/home/u/project")
  await page.locator("#key").fill("execute_threshold_per")
  check("a search finds one key", (await page.locator("#settings tr").count()) === 1)
  await page.locator("#key").fill("")
  check("a mistake in a file is not shown", await page.getByText("zebra<img src=x>").isVisible())
  await look("settings")
  await page.locator("#key").fill("protected_tags")
  await page.getByRole("button", { name: "edit protected_tags" }).click()
  check("the field has not the value in force", (await page.getByLabel("value of protected_tags").inputValue()) === "20")
  await page.getByLabel("value of protected_tags").fill("300")
  await page.getByRole("button", { name: "see the change of protected_tags" }).click()
  await page.getByText("takes a whole number from 1 to 100").nth(1).waitFor()
  await page.getByLabel("value of protected_tags").fill("30")
  await page.getByRole("button", { name: "see the change of protected_tags" }).click()
  await page.getByText("protected_tags: 20 → 30").waitFor()
  check("a change does not say when it takes effect", await page.getByText("It takes effect when OpenCode next starts.").isVisible())
  await look("setting")
  await page.keyboard.press("Enter") // the button has the focus
  await page.getByText("is written.").waitFor()
  check("a written value is not shown", (await page.locator("#settings tr").textContent()).includes("30"))
  await page.locator("#key").fill("temporal")
  await page.getByRole("button", { name: "edit temporal_awareness" }).click()
  await page.getByLabel("value of temporal_awareness").selectOption("false")
  await page.keyboard.press("Escape")
  check("Escape does not close the editor", (await page.getByLabel("value of temporal_awareness").count()) === 0)

  await page.goto("about:blank")
  await page.goto(url) // a second time
  await page.getByText("46% of 200k").waitFor()
  // The browser also reports the requests with the edit and the token that were refused.
  problems.splice(0, problems.length, ...problems.filter((p) => !p.includes("422")))
  const stranger = await (await browser.newContext()).newPage()
  await stranger.goto(url)
  await stranger.getByText("it works once").waitFor()
  check("an address that was used shows data", (await stranger.locator(".card, #memories tr").count()) === 0)
} catch (err) {
  problems.push(err.message)
} finally {
  await browser.close()
}
for (const problem of problems) console.log(problem)
process.exitCode = problems.length ? 1 : 0
