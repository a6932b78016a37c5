import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "./browser.mjs";
import { buying } from "./buyer.mjs";
import { until } from "./demo.mjs";
import { furnished } from "./every-page.mjs";

let demo, everyPage, browser;

before(async () => {
  ({ demo, everyPage } = await furnished());
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

// buyersPages are the pages of somebody who buys: he has a cart, and an order that
// is paid, and looks at a form and at a receipt.
async function buyersPages(context) {
  const page = await context.newPage(), { session } = buying(demo, browser);
  await page.goto(`${demo.base}/shop`);
  await page.getByRole("button", { name: "Add to cart: Mug" }).click();
  await page.waitForURL("**/shop/cart");
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.waitForURL("**/c/pay/cs_test_*");
  const form = await session(), id = new URL(page.url()).pathname.split("/").pop(), receipt = `/c/pay/${id}`;
  await demo.post(`/v1/payment_pages/${id}/confirm`, { payment_method: "pm_card_visa" });
  const { client_reference_id: order } = await demo.get(`/v1/checkout/sessions/${id}`);
  await page.goto(`${demo.base}/shop/orders/${order}`);
  await page.locator('[data-state="paid"]').waitFor();
  await page.goto(`${demo.base}/shop`);
  await page.getByRole("button", { name: "Add to cart: Mug" }).click();
  await page.waitForURL("**/shop/cart");
  await page.close();
  return { shop: "/shop", cart: "/shop/cart", order: `/shop/orders/${order}`, form: new URL(form.url).pathname, receipt };
}

// references are all pages of the API reference, which are the longest there are.
async function references() {
  const contents = await fetch(`${demo.base}/docs/api`).then((r) => r.text());
  const paths = new Set([...contents.matchAll(/href="(\/docs\/api\/[\w/-]+)/g)].map(([, path]) => path));
  assert.ok(paths.size > 15, `the reference has ${paths.size} pages`);
  return Object.fromEntries([...paths].map((path) => [path, path]));
}

const painted = (page) => page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);

// visitor is a page whose scripts come when it has been painted: as late as they may, so that whatever they move is seen to
// move. What moves when it is told of a payment is counted apart, and so is what moves while the browser still parses
// the page: a slow machine paints a table before it has read all rows.
async function visitor(options) {
  const page = await (await browser.newContext(options)).newPage();
  await page.addInitScript(() => {
    const moves = globalThis.moves = [], name = (node) => node?.nodeName + "." + (node?.className ?? "");
    new PerformanceObserver((list) => {
      for (const { hadRecentInput, startTime, value, sources } of list.getEntries()) {
        const { domInteractive } = performance.getEntriesByType("navigation")[0], parsing = !domInteractive || startTime < domInteractive;
        if (!hadRecentInput) moves.push({ live: startTime > globalThis.updated, parsing, value, what: sources.map((it) => name(it.node)).join(" ") });
      }
    }).observe({ type: "layout-shift", buffered: true });
    const ask = globalThis.fetch;
    globalThis.fetch = async (address, options) => {
      const answer = await ask(address, options);
      if (options?.headers?.["ratchet-live"]) globalThis.updated ??= performance.now();
      return answer;
    };
  });
  await page.route("**/*.js", (route) => painted(page).then(() => route.continue()));
  return page;
}

// arrival opens a page. Where there is something live, it is told of a payment. A visitor comes from an empty page: to
// open a new one for each costs Chromium more than the page.
async function arrival(page, path) {
  await page.goto("about:blank");
  await page.goto(demo.base + path, { waitUntil: "load" });
  await painted(page);
  const seen = await page.evaluate(() => {
    const [answer] = performance.getEntriesByType("navigation"), bytes = [answer, ...performance.getEntriesByType("resource")].map((e) => e.transferSize);
    return { bytes: bytes.reduce((sum, n) => sum + n), answered: answer.responseStart, painted: performance.getEntriesByName("first-contentful-paint")[0].startTime };
  });
  if (await page.locator(".live").count() > 0) {
    await page.locator('.live[data-state="live"]').waitFor();
    let heard = false;
    const told = page.waitForResponse((answer) => answer.request().headers()["ratchet-live"] === "1").then(() => { heard = true; }, () => {});
    const shows = await page.locator("live-region").evaluateAll((all) => all.some((it) => /money|requests/.test(it.getAttribute("topics"))));
    // A page that shows money hears of the second payment if it did not know yet how things stood before the first. Others may hear of its webhook.
    await until(async () => {
      await demo.post("/v1/charges", { amount: 2345, currency: "usd", source: "tok_visa" });
      await Promise.race([told, new Promise((resolve) => setTimeout(resolve, 2000))]);
      return heard || !shows;
    });
  }
  seen.moves = await page.evaluate(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
    return globalThis.moves;
  });
  return seen;
}

// beside is how many pages arrive at a time, each in a browser of its own as far as it can tell. Most of the time they wait:
// for a payment that not every page shows.
const beside = 4;

// How soon a page is painted depends on who else uses the machine: it is told, and
// no test fails over it. That no page waits for its scripts is a matter of fact.
for (const width of [1280, 360]) {
  test(`every page is light, is painted before its scripts come, and nothing on it moves by itself, ${width} pixels wide`, async (t) => {
    const of = { viewport: { width, height: 900 } }, context = await browser.newContext(of);
    const pages = { ...everyPage, ...await buyersPages(context), ...width === 1280 && await references() }, seen = [], wrong = [];
    const look = async (page, [name, path]) => {
      const { bytes, moves, ...times } = await arrival(page, path);
      seen.push({ name, late: times.painted - times.answered, ...times });
      if (!(bytes > 5000 && bytes <= 100_000)) wrong.push(`${name} weighs ${bytes} bytes`);
      const kindOf = (it) => it.live ? "with a payment that arrives" : it.parsing ? "while it is parsed" : "as it comes";
      for (const [kind, most] of Object.entries({ "as it comes": 0.02, "while it is parsed": 0.1, "with a payment that arrives": 0.1 })) {
        const moved = moves.filter((it) => kindOf(it) === kind), sum = moved.reduce((sum, it) => sum + it.value, 0);
        const what = `${name} moves by ${sum.toFixed(4)} ${kind}: ${moved.map((it) => it.what)}`;
        if (kind !== "as it comes" && sum > 0) t.diagnostic(what);
        if (!(sum < most)) wrong.push(what);
      }
    };
    const todo = Object.entries(pages), cookies = await context.storageState();
    await Promise.all(Array.from({ length: beside }, async () => {
      const page = await visitor({ ...of, storageState: cookies });
      while (todo.length > 0) await look(page, todo.shift());
      await page.context().close();
    }));
    for (const [what, time] of Object.entries({ "first painted": "painted", "of these, after the first byte": "late" })) {
      seen.sort((a, b) => a[time] - b[time]);
      const { [time]: most, name } = seen.at(-1);
      t.diagnostic(`${what}: ${Math.round(seen[Math.floor(seen.length / 2)][time])} ms in the median, ${Math.round(most)} ms at most (${name})`);
    }
    assert.deepEqual(wrong, []);
    await context.close();
  });
}
