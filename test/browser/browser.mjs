// Debian's Chromium, and what no page may do in it.
import assert from "node:assert/strict";
import AxeBuilder from "@axe-core/playwright";
import { chromium } from "playwright-core";

// patience is how long a test waits for what must happen. On an idle machine nothing takes a tenth of it.
const patience = 120_000;

// drawn is all that a test needs of a screenshot: the page is drawn as it is now.
const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

// launch starts the browser. With PICTURES=no it saves no screenshots: they are for people, and take a quarter of the time.
export async function launch() {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext({ locale: "en-US", ...options });
    context.setDefaultTimeout(patience);
    if (process.env.PICTURES === "no") context.on("page", (page) => { page.screenshot = () => options?.javaScriptEnabled === false || drawn(page); });
    return context;
  };
  return browser;
}

// watched is a page whose every complaint is kept: errors, refusals of the
// content security policy, and requests to anybody else.
export async function watched(context, base) {
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") page.complaints.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => page.complaints.push(`error: ${e.message}`));
  page.on("request", (r) => { if (!r.url().startsWith(base) && !r.url().startsWith("data:")) page.complaints.push(`request to ${r.url()}`); });
  return page;
}

// With EVERY_NTH=4, a test of many things of one kind looks at every fourth: at its share.
export const everyNth = Number(process.env.EVERY_NTH ?? 1);
export const share = (things) => Object.fromEntries(Object.entries(things).filter((_, i) => i % everyNth === 0));

// ofColors are the rules that a theme can break, and a width can't.
const ofColors = ["color-contrast", "link-in-text-block"];

// accessible asserts that axe finds nothing wrong on a page. A page without frames is
// checked in place: to collect the results of frames, axe opens a page of its own, and
// takes three times as long. colors says whether the rules about colors count, too, alone or not.
export async function accessible(page, colors = "too") {
  const axe = new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).setLegacyMode(page.frames().length === 1);
  if (colors === "alone") axe.withRules(ofColors);
  if (colors === "not") axe.disableRules(ofColors);
  const { violations } = await axe.analyze();
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html + " " + n.failureSummary).join(" | ")}`), [], page.url());
}

// accessibleIn asserts it of a page that is looked at in both themes, and on a wide screen and on a phone. Themes
// differ in colors, and widths in the rest.
export async function accessibleIn(page, theme, width) {
  if (width >= 1280) await accessible(page, theme === "light" ? "too" : "alone");
  else if (theme === "light") await accessible(page, "not");
}

// loaded waits until a page, or a frame, has its scripts. Before, a form is sent as it would be without them: once. A
// frame may go on to its next page meanwhile, which then counts.
export async function loaded(page) {
  for (;;) {
    try {
      return await page.locator("html").evaluate(async () => {
        if (document.readyState !== "complete") await new Promise((resolve) => addEventListener("load", resolve));
      });
    } catch (wrong) {
      if (!wrong.message.includes("Execution context was destroyed")) throw wrong;
    }
  }
}
