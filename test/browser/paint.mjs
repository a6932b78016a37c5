// How soon pages are painted: a demo of its own, every page of the navigation and the first object of each list, each
// in a browser that has nothing cached. Prints the medians, and fails over a median of 300 ms. It measures the machine,
// too, so no test runs it: nothing else may run meanwhile. Fails as well over a page of more than 100 KB, over an error
// in the console, over what axe finds, and after ten minutes, when it names what it waits for.
import { accessible, launch, watched } from "./browser.mjs";
import { furnish, startDemo } from "./demo.mjs";

const most = 300, heaviest = 100, times = 5, patience = 10; // ms, KB, visits, minutes
let step = "the demo starts";
setTimeout(() => { console.error(`after ${patience} minutes, this has not ended: ${step}`); process.exit(1); }, patience * 60_000).unref();
const demo = await startDemo();
let browser;
try {
  step = "the demo is furnished";
  const made = await furnish(demo);
  const session = await demo.post("/v1/checkout/sessions", {
    mode: "payment", success_url: `${demo.base}/shop`, "line_items[0][quantity]": 1, "line_items[0][price]": made.product.default_price,
  });
  browser = await launch();
  const text = (path) => fetch(demo.base + path).then((answer) => answer.text());
  const links = async (path, pattern) => [...(await text(path)).matchAll(pattern)].map(([, href]) => href);
  const lists = await links("/dashboard", /<a [^>]*href="(\/dashboard\/[a-z]+)"/g);
  const pages = new Set(["/", "/shop", "/shop/cart", "/lab", "/docs", "/docs/api/charges", new URL(session.url).pathname, "/dashboard", ...lists]);
  for (const list of lists) for (const row of (await links(list, new RegExp(`<a [^>]*href="(${list}/[a-z]+_\\w+)"`, "g"))).slice(0, 1)) pages.add(row);
  const seen = [];
  const faults = [];
  for (const path of pages) {
    step = path;
    const rounds = [];
    let weight = 0;
    for (let i = 0; i < times; i++) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 } }), page = await watched(context, demo.base);
      await page.goto(demo.base + path, { waitUntil: "load" });
      await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
      rounds.push(await page.evaluate(() => {
        const [answer] = performance.getEntriesByType("navigation"), style = performance.getEntriesByType("resource").filter((it) => it.renderBlockingStatus === "blocking");
        const bytes = [answer, ...performance.getEntriesByType("resource")].reduce((sum, it) => sum + it.transferSize, 0);
        return { bytes, painted: performance.getEntriesByName("first-contentful-paint")[0].startTime, answered: answer.responseStart, styled: Math.max(0, ...style.map((it) => it.responseEnd)) };
      }));
      weight = Math.max(weight, rounds.at(-1).bytes);
      if (i === 0) await accessible(page).catch((wrong) => faults.push(`${path}: axe: ${wrong.message}`));
      faults.push(...page.complaints.map((it) => `${path}: ${it}`));
      await context.close();
    }
    const median = (of) => Math.round(rounds.map((it) => it[of]).sort((a, b) => a - b)[Math.floor(times / 2)]);
    seen.push({ path: path.replace(/(_\w{6})\w+/, "$1…"), painted: median("painted"), answered: median("answered"), styled: median("styled"), weight: Math.ceil(weight / 1024) });
  }
  seen.sort((a, b) => b.painted - a.painted);
  console.log("first paint, first byte and blocking styles in ms after the navigation began, medians of", times, "and the KB sent");
  for (const { path, painted, answered, styled, weight } of seen) console.log(`${String(painted).padStart(5)} ${String(answered).padStart(5)} ${String(styled).padStart(5)} ${String(weight).padStart(5)}  ${path}`);
  console.log(`${seen.length} pages: ${seen[Math.floor(seen.length / 2)].painted} ms in the median, ${seen[0].painted} ms at most`);
  if (seen[0].painted >= most) { console.error(`a page is painted after ${most} ms or more`); process.exitCode = 1; }
  for (const { path, weight } of seen) if (weight > heaviest) faults.push(`${path}: ${weight} KB, more than ${heaviest}`);
  console.log(`${Math.max(...seen.map((it) => it.weight))} KB at most; ${faults.length} other faults`);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
  step = "the demo stops";
} finally {
  await browser?.close();
  await demo.stop();
}
