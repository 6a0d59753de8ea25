import { chromium } from "playwright-core"

// Containers have little shared memory.
const quiet = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]

export const launch = (executablePath) => chromium.launch({ executablePath, chromiumSandbox: false, args: quiet, timeout: 0 })

/**
 * Watches the page, and adds a line to `problems` for everything that a page must never do, for example write an error
 * to the console.
 */
export function watch(page, origin, problems) {
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(`console: ${message.text()}`))
  page.on("pageerror", (error) => problems.push(`uncaught: ${error.message}`))
  page.on("dialog", (dialog) => problems.push(`dialog: ${dialog.message()}`))
  page.on("request", (request) => new URL(request.url()).origin === origin || request.url() === "data:," || problems.push(`asks for ${request.url()}`))
}
