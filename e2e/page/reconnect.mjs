// Checks how the dashboard reconnects after it has lost its connection. After each expected change, the script prints a
// line. The test then breaks the connection, restores it, or leads it to a restarted dashboard, and answers with a line
// on stdin. NEXT is the address of the restarted dashboard. The screenshots go to the directory SCREENS.
//
//   node reconnect.mjs CHROMIUM URL NEXT SCREENS
import { join } from "node:path"
import { createInterface } from "node:readline"
import { launch, watch } from "./chrome.mjs"

const [executablePath, url, next, screens] = process.argv.slice(2)
const browser = await launch(executablePath)
const problems = []
const check = (what, isRight) => isRight || problems.push(what)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const tell = async (line) => {
  console.log(line)
  await lines.next()
}
const page = await browser.newPage({ viewport: { width: 400, height: 800 } })
try {
  page.setDefaultTimeout(60_000)
  watch(page, new URL(url).origin, problems)
  let attempts = 0
  page.on("request", (request) => request.url().endsWith("/api/state") && attempts++)
  await page.clock.install()
  await page.goto(url)
  await page.getByText("45% of 200k").waitFor()
  await page.clock.pauseAt(Date.now() + 1000)

  await tell("shown")
  await page.getByText("No connection to magicctx-host dashboard").waitFor()
  await page.screenshot({ path: join(screens, "dashboard-lost-400x800-light.png") })
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
    const before = attempts
    await page.clock.runFor(1000 * seconds - 100)
    check(`an attempt comes ${seconds} s after the last one, or earlier`, attempts === before)
    const failed = page.waitForEvent("requestfailed")
    await page.clock.runFor(200)
    await failed
    await page.evaluate(() => new Promise((done) => queueMicrotask(done))) // the page has seen the failure, too
    check("one pause has more than one attempt", attempts === before + 1)
  }
  await tell("waited")
  await page.clock.runFor(31_000)
  await page.locator("#lost").waitFor({ state: "hidden" })

  await tell("connected")
  await page.getByText("No connection to magicctx-host dashboard").waitFor()
  await page.clock.runFor(1100)
  await page.getByText("was started again. Open the address that it has printed").waitFor()
  const before = attempts
  await page.clock.runFor(600_000)
  check("the page asks again although it was refused", attempts === before)
  await page.clock.resume()
  await page.goto(next)
  await page.getByText("46% of 200k").waitFor()
  check("the page says that it has no connection", await page.locator("#lost").isHidden())
} catch (err) {
  problems.push(err.message)
} finally {
  await browser.close()
}
for (const problem of problems) if (!problem.includes("Failed to load resource")) console.log(problem)
process.exit()
