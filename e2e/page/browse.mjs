// Opens every page of a directory in a browser, and prints problems.
//
//   node browse.mjs CHROMIUM PAGES SCREENS
import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { launch } from "./chrome.mjs"

const [executablePath, pages, screens] = process.argv.slice(2)

// A phone, half a screen and a laptop. Colours do not change the behaviour, so on the dark page only the layout and the
// first sentence are checked.
const views = [[360, 800, "light"], [800, 900, "dark"], [1280, 900, "light"]]

mkdirSync(screens, { recursive: true })
const browser = await launch(executablePath)
const problems = []
try {
  await Promise.all(readdirSync(pages).map(async (file) => {
    for (const [width, height, colorScheme] of views) {
      const view = `${file.replace(".html", "")}-${width}x${height}-${colorScheme}`
      const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" })
      for (const problem of await visit(await context.newPage(), join(pages, file), view)) problems.push(`${view}: ${problem}`)
      await context.close()
    }
  }))
} finally {
  await browser.close()
}
for (const problem of problems) console.log(problem)
process.exitCode = problems.length ? 1 : 0

async function visit(page, file, view) {
  const found = []
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && found.push(`console: ${message.text()}`))
  page.on("pageerror", (error) => found.push(`uncaught: ${error.message}`))
  page.on("dialog", (dialog) => found.push(`dialog: ${dialog.message()}`))
  page.on("request", (request) => request.isNavigationRequest() || found.push(`asks for ${request.url()}`))
  page.setDefaultTimeout(0) // no timeout: a page may be slow on a busy machine, and the test has its own deadline
  const url = pathToFileURL(file).href
  await page.goto(url)
  await page.screenshot({ path: join(screens, view + "-top.png") }) // the part that people see first
  found.push(...(await page.evaluate(layoutProblems)))
  found.push(...(await openingProblems(page)))
  if (view.endsWith("dark")) return found // it behaves like the light page
  found.push(...(await keyboardProblems(page)))
  found.push(...(await bustProblems(page, view)))
  found.push(...(await pointerProblems(page)))
  found.push(...(await sessionProblems(page, view)))
  return found
}

/** Runs in the page. Finds content that is wider than the screen, and texts that overlap. */
function layoutProblems() {
  const found = []
  if (document.documentElement.scrollWidth > innerWidth) found.push(`is ${document.documentElement.scrollWidth} px wide`)
  for (const e of document.querySelectorAll(".scroll")) if (e.scrollWidth > e.clientWidth) found.push(`scrolls sideways: ${e.textContent.trim().slice(0, 40)}`)
  const rects = (selector) =>
    [...document.querySelectorAll(selector)] // closed details have rectangles, too
      .filter((e) => e.checkVisibility())
      .map((e) => ({ text: e.textContent.trim().slice(0, 60), r: e.getBoundingClientRect() }))
      .filter(({ r }) => r.width > 0)
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1
  for (const group of [".plot b, .axis b, .caption", ".key div, .legend, .caption > b, .facts, .headline > *", ".tile, .sentence", "summary > *", ".told div, .detail p, .detail table"]) {
    const all = rects(group)
    all.forEach((a, i) => all.slice(i + 1).forEach((b) => overlap(a.r, b.r) && found.push(`"${a.text}" lies on "${b.text}"`)))
  }
  for (const e of document.querySelectorAll("summary .pass")) if (e.scrollWidth > e.clientWidth) found.push(`"${e.textContent}" is wider than its column`)
  for (const { text, r } of rects(".stage b, .tile dd, .key div, .legend, .sentence, summary > *, .told dd, .detail td")) {
    if (r.left < 0 || r.right > innerWidth) found.push(`"${text}" is cut off`)
  }
  return found
}

/** The page's first sentence must be visible without scrolling, and contain the number of requests and their cost. */
async function openingProblems(page) {
  const sentence = page.locator(".sentence")
  const box = await sentence.boundingBox()
  const text = await sentence.textContent()
  return [
    ...(box && box.y + box.height < page.viewportSize().height ? [] : ["the sentence is not on the first screen"]),
    ...(/^\d+ (of \d+ )?requests? .*\$.*\.$/.test(text) ? [] : [`opens with "${text}"`]),
  ]
}

/**
 * A click must open a bust's details. Enter in the chart must open them, too, and Enter on the bust's row must close
 * them.
 */
async function bustProblems(page, view) {
  const session = page.locator(".session:not([hidden])")
  const rows = session.locator("details")
  const n = await rows.count()
  if (n === 0) return []
  const found = []
  await rows.first().locator("summary").click()
  if (!(await rows.first().locator(".told").isVisible())) found.push("a click on a bust shows nothing")
  const wanted = (await rows.first().locator(".pass").textContent()).trim()
  const headline = await session.locator(".headline output").textContent()
  if (!headline.startsWith(wanted + ",")) found.push(`a click on ${wanted} chooses "${headline}"`)
  found.push(...(await page.evaluate(layoutProblems)))
  await page.screenshot({ path: join(screens, view + ".png"), fullPage: true })
  await page.keyboard.press("Enter")
  if (await rows.first().locator(".told").isVisible()) found.push("enter on an open bust does not close it")
  await session.locator(".stage").focus()
  await page.keyboard.press("Home")
  await page.keyboard.press("PageDown")
  await page.keyboard.press("Enter")
  if (!(await rows.first().locator(".told").isVisible())) found.push("enter in the chart does not show the bust")
  if (!(await rows.first().locator("summary").evaluate((e) => e === document.activeElement))) found.push("the bust that enter shows has no focus")
  return found
}

/**
 * At first, the last pass is selected. The left arrow must select the previous pass. Page Up must select the previous
 * bust.
 */
async function keyboardProblems(page) {
  const stage = page.locator(".session:not([hidden]) .stage")
  const at = async () => Number(await stage.getAttribute("aria-valuenow"))
  const last = await at()
  await stage.focus()
  await page.keyboard.press("ArrowLeft")
  const found = []
  if ((await at()) !== Math.max(last - 1, 1)) found.push(`arrow left goes from ${last} to ${await at()}`)
  await page.keyboard.press("PageUp")
  const headline = await page.locator(".session:not([hidden]) .headline output").textContent()
  const busts = await page.locator(".session:not([hidden]) .bust").count()
  if (busts > 0 && !headline.includes("cache rebuilt")) found.push(`page up shows "${headline}"`)
  if ((await stage.getAttribute("aria-valuetext")) !== headline) found.push("a screen reader hears another pass than is shown")
  return found
}

async function pointerProblems(page) {
  const plot = page.locator(".session:not([hidden]) .plot.context")
  await plot.scrollIntoViewIfNeeded()
  const box = await plot.boundingBox()
  await page.mouse.move(box.x + 1, box.y + box.height / 2)
  const passes = Number(await page.locator(".session:not([hidden]) .stage").getAttribute("aria-valuemax"))
  const most = 1 + (passes / box.width) * 2 // in a long session, a pixel stands for several passes
  const isLeft = (most) => Number(document.querySelector(".session:not([hidden]) .stage").getAttribute("aria-valuenow")) <= most
  const isShown = await page.waitForFunction(isLeft, most, { timeout: 60_000 }).catch(() => false)
  return isShown ? [] : [`the pointer at the left edge shows a pass after ${most}`]
}

async function sessionProblems(page, view) {
  const links = page.locator("nav a")
  const n = await links.count()
  if (n === 0) return []
  await links.nth(n - 1).click()
  await page.waitForFunction((i) => !document.querySelectorAll(".session")[i].hidden, n - 1)
  await page.screenshot({ path: join(screens, view + "-last.png"), fullPage: true })
  const shown = await page.locator(".session:not([hidden])").count()
  return [...(shown === 1 ? [] : [`shows ${shown} sessions at once`]), ...(await page.evaluate(layoutProblems))]
}
