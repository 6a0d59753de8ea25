// Uses the dashboard while a session is running. The script asks to keep a dropped unit, and edits a memory. Then it
// prints a line, and waits until the page shows that the unit is back.
//
//   node running.mjs CHROMIUM URL
import { launch, watch } from "./chrome.mjs"

const [executablePath, url] = process.argv.slice(2)
const browser = await launch(executablePath)
const problems = []
const page = await browser.newPage()
try {
  page.setDefaultTimeout(60_000)
  watch(page, new URL(url).origin, problems)
  await page.goto(url)
  await page.locator(".card h3 a").click()
  await page.locator("#busts summary").first().click()
  await page.getByRole("button", { name: /^bring back: §2§/ }).click()
  await page.locator("#kept", { hasText: "it comes back when" }).waitFor()
  await page.getByRole("link", { name: "Memories" }).click()
  await page.getByRole("button", { name: "edit memory 1" }).click()
  await page.getByLabel("text of memory 1").fill("The zebra sleeps at night.")
  await page.getByRole("button", { name: "save" }).click()
  await page.locator("#memories", { hasText: "The zebra sleeps at night." }).waitFor()
  await page.goBack()
  await page.locator("#kept", { hasText: "it comes back when" }).waitFor()
  console.log("changed")
  await page.locator("#kept", { hasText: "it stays in the prompt" }).waitFor()
  const parts = await page.locator("#timeline .caption").first().textContent()
  for (const part of ["system prompt", "memories", "conversation", "tool calls"]) if (!parts.includes(part)) problems.push(`the prompt has no ${part}: ${parts}`)
  if ((await page.locator("#busts details[open]").count()) !== 1) problems.push("the bust that was open is closed")
} catch (err) {
  problems.push(err.message, `the page says: ${await page.locator("#trouble").textContent()}`)
} finally {
  await browser.close()
}
for (const problem of problems) console.log(problem)
process.exitCode = problems.length ? 1 : 0
