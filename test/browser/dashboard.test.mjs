// What people do with the dashboard, and how: with a keyboard, on a small
// screen, in their own colors, and while the server dies.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";
import AxeBuilder from "@axe-core/playwright";
import { launch, share, watched } from "./browser.mjs";
import { furnish, startDemo, until } from "./demo.mjs";

const shots = new URL("screenshots/", import.meta.url).pathname;
let demo, made, browser;

before(async () => {
  demo = await startDemo();
  made = await furnish(demo);
  browser = await launch();
  mkdirSync(shots, { recursive: true });
});
afterEach(async () => { // a page that is left open goes on looking, beside those of the tests after it
  for (const context of browser.contexts()) await context.close();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

const open = async (path, options = {}) => {
  const page = await watched(await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options }), demo.base);
  await page.goto(demo.base + path);
  return page;
};

test("a ledger that is empty fills by itself", async () => {
  const context = await browser.newContext();
  await context.addCookies([{ name: "ratchet_scope", value: "acct_other.test", url: demo.base }]);
  const page = await watched(context, demo.base);
  await page.goto(`${demo.base}/dashboard/ledger`);
  await page.getByRole("heading", { name: "No ledger entries yet" }).waitFor();
  await page.locator('.live[data-state="live"]').waitFor();
  await fetch(`${demo.base}/v1/charges`, { method: "POST", headers: { authorization: "Bearer sk_test_ratchet_other" },
    body: new URLSearchParams({ amount: 1000, currency: "usd", source: "tok_visa" }) });
  await page.locator(".trial .diff").waitFor();
  assert.match(await page.locator(".trial .diff").innerText(), /difference\s+0$/);
  assert.deepEqual(page.complaints, []);
});

test("an event that is sent again reaches its server, signed anew, and the page tells of it", async () => {
  const event = made.heard.find((h) => h.path === "/hook").id;
  const page = await open(`/dashboard/webhooks/${made.endpoint.id}/${event}`);
  const before = made.heard.length, pressed = Date.now();
  await page.getByRole("button", { name: "Resend" }).click();
  const again = await until(() => made.heard.slice(before).find((h) => h.id === event && h.path === "/hook"));
  const late = Date.now() - pressed;
  assert.ok(late < 10_000, `it took ${late} ms`);
  assert.match(again.signature, /^t=\d+,v1=[0-9a-f]{64}$/);
  await page.getByRole("region", { name: "Attempt 2" }).getByText("HTTP 200").waitFor();
  assert.deepEqual(page.complaints, []);
  console.log(`sent again within ${late} ms`);
});

test("an endpoint is added, its secret read once, rolled, and switched off", async () => {
  const page = await open("/dashboard/webhooks");
  await page.getByLabel("Endpoint URL").fill(`${made.listens}/added`);
  await page.getByRole("button", { name: "Add" }).click();
  const secret = await page.locator(".fresh-secret code").innerText();
  assert.match(secret, /^whsec_/);
  assert.ok(!page.url().includes("whsec"), "a secret is in the address");
  await page.getByLabel("Old secret").selectOption("0");
  await page.getByRole("button", { name: "Roll secret" }).click();
  await page.getByText("The secret is shown only once.").waitFor();
  assert.notEqual(await page.locator(".fresh-secret code").innerText(), secret);
  await page.getByRole("button", { name: "Disable endpoint" }).click();
  await page.getByText("Endpoint disabled.").waitFor();
  assert.equal(await page.locator(".fresh-secret").count(), 0);
  await page.getByRole("button", { name: "Enable endpoint" }).waitFor();
  assert.deepEqual(page.complaints, []);
});

test("filters stay in the address, and the file has the same payments", async () => {
  const page = await open("/dashboard/payments");
  await page.getByText("More filters").click();
  await page.getByLabel("Minimum amount").fill("45");
  await page.getByLabel("Currency").fill("usd");
  await page.getByLabel("Card", { exact: true }).selectOption("visa");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.waitForURL(/min=45/);
  await page.getByRole("link", { name: "Succeeded" }).click();
  await page.waitForURL((url) => url.searchParams.get("state") === "succeeded" && url.searchParams.get("min") === "45" && url.searchParams.get("brand") === "visa");
  const ids = await page.locator("tbody tr").evaluateAll((rows) => rows.map((row) => row.dataset.key));
  const file = await page.evaluate(async (href) => (await fetch(href)).text(), await page.getByRole("link", { name: "CSV" }).getAttribute("href"));
  const lines = file.trim().split("\n").slice(1).map((line) => line.split(",")[0]);
  assert.deepEqual(lines.slice(0, ids.length), ids);
  assert.ok(ids.length > 2 && ids.includes(made.intent.id), `${ids}`);
});

test("the log of requests begins with what clients sent, and the machine's own is one choice away", async () => {
  const page = await open("/dashboard/requests");
  const sent = () => page.locator("tbody td.path").allInnerTexts();
  const clients = await sent();
  assert.ok(clients.length > 20 && clients.every((path) => /^(POST|DELETE) \/(v1|3d_secure)\//.test(path)), clients.join("\n"));
  await page.getByLabel("Source").selectOption("machine");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.waitForURL(/by=machine/);
  const own = await sent();
  assert.ok(own.length > 5 && own.every((path) => /^JOB |\/acquirer\//.test(path)), own.join("\n"));
  await page.goto(`${demo.base}/dashboard/idempotency?state=finished`);
  const keys = await page.locator("tbody .main-cell").allInnerTexts();
  assert.ok(keys.length > 20 && !keys.includes("(none)"), `${keys}`);
  assert.deepEqual(page.complaints, []);
});

test("the mark of a crash is a burst, and no face, at the size of a badge", async () => {
  const page = await open("/dashboard/payments");
  const badge = page.locator(".badge", { hasText: "Survived a crash" }).first();
  await badge.waitFor();
  const drawn = await badge.locator("svg").evaluate((svg) => {
    const path = svg.querySelector("path"), length = path.getTotalLength(), steps = 360;
    const far = Array.from({ length: steps }, (_, i) => { const at = path.getPointAtLength(length * i / steps); return Math.hypot(at.x - 12, at.y - 12); });
    const middle = far.reduce((sum, it) => sum + it, 0) / steps;
    const spikes = far.filter((it, i) => it > middle * 1.15 && it >= far.at(i - 1) && it > far[(i + 1) % steps]);
    return { shapes: svg.querySelectorAll("circle, path, ellipse").length, parts: path.getAttribute("d").match(/m/gi).length, spikes: spikes.length, width: svg.getBoundingClientRect().width };
  });
  assert.ok(drawn.width > 0 && drawn.width <= 16, `it is ${drawn.width} pixels wide`);
  assert.deepEqual({ shapes: drawn.shapes, parts: drawn.parts }, { shapes: 1, parts: 1 }, "something is drawn inside of the outline, such as eyes");
  assert.ok(drawn.spikes >= 6, `the outline has ${drawn.spikes} spikes, and looks round`);
});

test("a click anywhere in a row opens it, one on its button does not, and on a phone the menu shows the page one is on", async () => {
  const page = await open("/dashboard/payments");
  const row = page.locator("tbody tr").first();
  await row.getByRole("button", { name: /^Copy/ }).click();
  assert.match(page.url(), /payments$/);
  await row.locator("td.about").click();
  await page.waitForURL(/payments\/(ch|pi)_/);
  const small = await open("/dashboard/processes", { viewport: { width: 320, height: 700 } });
  await small.getByRole("button", { name: "Menu", exact: true }).click();
  const here = small.locator(".side [aria-current]");
  await here.scrollIntoViewIfNeeded();
  const box = await here.boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 320, JSON.stringify(box));
  assert.deepEqual([...page.complaints, ...small.complaints], []);
});

test("a clock that is moved moves the account, once however often its button is pressed", async () => {
  const page = await open("/dashboard/clock");
  await page.getByRole("button", { name: "+1 day" }).dblclick();
  await page.getByText("Test time advanced by 1 day.").waitFor();
  const clock = await until(async () => {
    const now = await demo.get(`/v1/test_helpers/test_clocks/${made.clock.id}`);
    return now.status === "ready" && now;
  });
  assert.equal(clock.frozen_time - made.clock.frozen_time, 24 * 3600);
});

test("an error of the reference happens when it is asked to", async () => {
  const page = await open("/docs/errors/card_declined");
  assert.match(page.url(), /#card_declined$/);
  await page.locator("#card_declined").getByRole("button").first().click();
  await page.getByText("HTTP 402").waitFor();
  await page.getByText('"card_declined"').waitFor();
});

// focused is what has the focus, and whether a person can see that.
const focused = (page) => page.evaluate(() => {
  const it = document.activeElement;
  if (!it || it === document.body) return null;
  const box = it.getBoundingClientRect(), style = getComputedStyle(it);
  const half = (from, to, most) => (Math.max(from, 0) + Math.min(to, most)) / 2; // of what is in view
  const middle = document.elementFromPoint(half(box.left, box.right, innerWidth), half(box.top, box.bottom, innerHeight));
  window.numbers ??= new WeakMap();
  window.counted ??= 0;
  if (!window.numbers.has(it)) window.numbers.set(it, ++window.counted);
  return {
    number: window.numbers.get(it), what: `${it.tagName} ${it.className} ${it.getAttribute("aria-label") ?? it.textContent.trim().slice(0, 30)}`,
    ring: parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== "none",
    inView: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    covered: !(middle && (it.contains(middle) || middle.contains(it))),
  };
});

for (const [name, path] of Object.entries(share({
  payments: () => "/dashboard/payments", payment: () => `/dashboard/payments/${made.intent.id}`, webhook: () => `/dashboard/webhooks/${made.endpoint.id}`,
  delivery: () => `/dashboard/webhooks/${made.broken.id}/${made.heard.find((h) => h.path === "/broken").id}`, ledger: () => "/dashboard/ledger",
  clock: () => "/dashboard/clock", inspector: () => "/dashboard/search?q=survivor", errors: () => "/docs/errors",
}))) {
  test(`with Tab alone everything on the page ${name} is reached, and the focus is seen`, async () => {
    const page = await open(path(), { reducedMotion: "reduce" });
    const all = await page.evaluate(() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
      .filter((it) => it.checkVisibility({ visibilityProperty: true }) && !it.disabled && it.type !== "hidden" && !(it.type === "radio" && !it.checked)).length); // Tab goes to the radio button that is chosen
    const reached = new Set();
    let last;
    for (let i = 0; i < all * 3 + 20; i++) {
      await page.keyboard.press("Tab");
      const now = await focused(page);
      if (!now) break; // past the last one, in the browser's own frame
      if (now.number === last) continue; // the parts of a date
      if (reached.has(now.number)) break; // round again
      last = now.number;
      reached.add(now.number);
      assert.ok(now.ring, `no ring: ${now.what}`);
      assert.ok(now.inView, `out of sight: ${now.what}`);
      assert.ok(!now.covered, `covered: ${now.what}`);
    }
    assert.ok(reached.size >= all, `${reached.size} of ${all} were reached`);
  });
}

test("a refund is made without a mouse", async () => {
  const charge = await demo.post("/v1/charges", { amount: 3100, currency: "usd", source: "tok_visa", description: "By keyboard" });
  const page = await open("/dashboard/payments");
  await page.keyboard.press("Control+k");
  await page.keyboard.type(charge.id);
  await page.keyboard.press("Enter");
  await page.waitForURL(/payments\/ch_/);
  for (let i = 0; i < 200 && (await page.evaluate(() => document.activeElement.id)) !== "amount"; i++) await page.keyboard.press("Tab");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("11.00");
  await page.keyboard.press("Enter");
  await page.getByText("$11.00 refunded.").waitFor();
  await page.goto(`${demo.base}/dashboard/payments`);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/payments\/(ch|pi)_/);
});

test("a page whose form was rejected stays live, and its address leads to the payment", async () => {
  const charge = await demo.post("/v1/charges", { amount: 3200, currency: "usd", source: "tok_visa" });
  const page = await open(`/dashboard/payments/${charge.id}`);
  await page.fill("#refund #amount", "10,50");
  await page.locator("#refund button.primary").click();
  await page.getByText("Use a point for decimals, as in 10.50.").waitFor();
  await page.locator('.live[data-state="live"]').waitFor();
  await demo.post("/v1/refunds", { charge: charge.id, amount: 100 });
  await page.locator("#payment-state").getByText("Partially refunded").waitFor();
  await page.goto(page.url());
  assert.equal(new URL(page.url()).pathname, `/dashboard/payments/${charge.id}`);
});

const small = () => ["/", "/dashboard", "/dashboard/payments", `/dashboard/payments/${made.intent.id}`, "/dashboard/checkout", `/dashboard/checkout/${made.session.id}`,
  "/dashboard/disputes", `/dashboard/disputes/${made.dispute.id}`, "/dashboard/payouts", `/dashboard/payouts/${made.payout.id}`, "/dashboard/webhooks",
  `/dashboard/webhooks/${made.broken.id}`, `/dashboard/webhooks/${made.broken.id}/${made.heard.find((h) => h.path === "/broken").id}`, "/dashboard/clock", "/dashboard/ledger",
  "/dashboard/balance", "/dashboard/requests", "/dashboard/search?q=survivor", "/dashboard/idempotency", "/dashboard/events", "/dashboard/keys", "/dashboard/processes", "/docs",
  "/docs/errors", "/docs/api/charges", "/docs/tour/02-the-engine"];

test("at 320 pixels, which is 1280 at 400 %, no page scrolls sideways", async () => {
  const page = await open("/", { viewport: { width: 320, height: 256 } });
  for (const path of small()) {
    await page.goto(demo.base + path);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${path} is ${wide} pixels too wide`);
  }
});

test("in the reader's own colors what is chosen is still seen", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("/dashboard/payments?state=succeeded", { forcedColors: "active", colorScheme });
    const colors = (selector) => page.locator(selector).first().evaluate((it) => getComputedStyle(it).backgroundColor);
    assert.notEqual(await colors(".chip[aria-current]"), await colors(".chip:not([aria-current])"));
    assert.notEqual(await colors(".side a[aria-current]"), await colors(".side a:not([aria-current])"));
    await page.goto(`${demo.base}/dashboard/search?q=survivor`);
    await page.screenshot({ path: `${shots}inspector.forced-${colorScheme}.png` });
    const { violations } = await new AxeBuilder({ page }).disableRules("color-contrast").analyze(); // the colors are the reader's
    assert.deepEqual(violations.map((v) => v.id), []);
    await page.context().addCookies([{ name: "ratchet_theme", value: colorScheme === "dark" ? "light" : "dark", url: demo.base }]);
    await page.reload();
    const drawn = await page.evaluate(() => {
      const { fill } = getComputedStyle(document.querySelector(".railway .who"));
      document.querySelector("main").style.color = "CanvasText";
      return { fill, text: getComputedStyle(document.querySelector("main")).color };
    });
    assert.equal(drawn.fill, drawn.text, "a drawing keeps the theme that was chosen here");
  }
});

test("where text is twice as large, icons and drawings are", async () => {
  const page = await open("/dashboard/search?q=survivor", { viewport: { width: 720, height: 900 } });
  const widths = (...of) => page.evaluate((of) => of.map((it) => document.querySelector(it).getBoundingClientRect().width), of);
  const text = (size) => page.evaluate((size) => { document.documentElement.style.fontSize = size; }, size);
  const before = await widths(".top .icon", ".timeline .dot svg", ".rail-down");
  await text("200%");
  assert.deepEqual(await widths(".top .icon", ".timeline .dot svg", ".rail-down"), before.map((width) => width * 2));
  await page.setViewportSize({ width: 1920, height: 900 });
  await text("100%");
  const [wide] = await widths(".rail");
  await text("125%");
  assert.deepEqual(await widths(".rail"), [wide * 1.25], "where the drawing lies, too");
});

test("on paper there is all of it, dark on light, and nothing to press", async () => {
  const page = await open("/");
  await page.context().addCookies([{ name: "ratchet_theme", value: "dark", url: demo.base }]);
  await page.setViewportSize({ width: 700, height: 1000 }); // A4 between its margins
  await page.emulateMedia({ media: "print" });
  for (const path of ["/docs/tour/02-the-engine", "/docs/api/charges", "/dashboard/ledger", "/dashboard/payments", `/dashboard/payments/${made.held.id}`, "/dashboard/search?q=survivor"]) {
    await page.goto(demo.base + path);
    const left = await page.evaluate(() => ({
      scheme: getComputedStyle(document.documentElement).colorScheme,
      paper: getComputedStyle(document.documentElement).backgroundColor,
      title: [...document.querySelectorAll(".page-head h1")].filter((it) => it.getBoundingClientRect().left > document.querySelector("main").getBoundingClientRect().left + 1).map((it) => it.textContent.trim()),
      press: [...document.querySelectorAll("button, input, .button, .side, .doc-nav")].filter((it) => it.checkVisibility()).map((it) => it.outerHTML.slice(0, 80)),
      cut: [...document.querySelectorAll("pre, .table-wrap")].filter((it) => it.checkVisibility() && it.scrollWidth > it.clientWidth + 1).map((it) => it.textContent.trim().slice(0, 60)),
    }));
    assert.deepEqual(left, { scheme: "light", paper: "rgb(255, 255, 255)", title: [], press: [], cut: [] }, path);
  }
});

test("a name of 250 letters, the longest address and the largest sum push nothing out of sight", async () => {
  const name = "Donaudampfschifffahrt".repeat(12).slice(0, 250), email = `${"a".repeat(64)}@${"b".repeat(60)}.example.com`;
  await demo.post("/v1/customers", { name, email });
  await demo.post("/v1/test_helpers/test_clocks", { name, frozen_time: Math.floor(Date.now() / 1000) });
  await demo.post("/v1/webhook_endpoints", { url: `https://shop.example/${"x".repeat(300)}`, "enabled_events[]": "charge.refunded" });
  const session = await demo.post("/v1/checkout/sessions", {
    mode: "payment", success_url: "http://127.0.0.1/paid", customer_email: email, "line_items[0][quantity]": 1,
    "line_items[0][price_data][currency]": "usd", "line_items[0][price_data][unit_amount]": 99999999, "line_items[0][price_data][product_data][name]": name,
  });
  const page = await open("/");
  for (const path of ["/dashboard/customers", "/dashboard/clock", "/dashboard/webhooks", "/dashboard/checkout", `/dashboard/checkout/${session.id}`]) {
    await page.goto(demo.base + path);
    const wide = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll(".table-wrap")].map((it) => it.scrollWidth - it.clientWidth));
    assert.ok(Math.max(...wide) <= 0, `${path}: ${wide}`);
  }
});

test("back through the ledger, the trial balance covers no link that has the focus", async () => {
  const page = await open("/dashboard/ledger", { reducedMotion: "reduce" });
  await page.locator(".bottom a").last().focus();
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Shift+Tab");
    const now = await focused(page);
    assert.ok(now.inView && !now.covered, `covered: ${now.what}`);
  }
  await page.setViewportSize({ width: 320, height: 256 });
  assert.equal(await page.locator(".trial").evaluate((it) => getComputedStyle(it).position), "static", "at 400 % it would be most of what is seen");
});

test("who wants no motion sees none", async () => {
  const page = await open("/dashboard/payments", { reducedMotion: "reduce" });
  await page.locator('.live[data-state="live"]').waitFor();
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
});

test("the proof on the first page counts by itself", async () => {
  const page = await open("/");
  await page.locator('.live[data-state="live"]').waitFor();
  const count = async () => Number(await page.locator(".proof dd").first().innerText());
  // A payment of an earlier test may be counted in between, so the truth is what a new page shows.
  const truth = async () => Number((await (await fetch(demo.base)).text()).match(/class="stats proof">[^]*?<dd>(\d+)/)[1]);
  const before = await count();
  await demo.post("/v1/charges", { amount: 1234, currency: "usd", source: "tok_visa" });
  await until(async () => {
    const now = await count();
    return now > before && now === await truth();
  });
  assert.equal(await page.locator(".proof .alarm").count(), 0);
});

test("a customer who is created after a page was rendered and before its stream opens appears by itself", async () => {
  const page = await open("/");
  await page.locator('.live[data-state="live"]').waitFor();
  for (const after of ["another page", "no page was open"]) {
    let openStream;
    const opened = new Promise((resolve) => { openStream = resolve; });
    await page.route("**/dashboard/stream", async (route) => { await opened; await route.continue(); });
    await page.goto(`${demo.base}/dashboard/customers`);
    const customer = await demo.post("/v1/customers", { name: `Late after ${after}` });
    openStream();
    await page.locator(`[data-key="${customer.id}"]`).waitFor({ timeout: 20_000 }).catch((err) => assert.fail(`after ${after}: ${err}`));
    await page.unroute("**/dashboard/stream");
    await demo.kill(); // nothing has looked at the database before the next page
    await until(() => demo.get("/v1/balance").catch(() => undefined));
  }
});

test("a page whose update fails is updated later, though nothing changes any more", async () => {
  const page = await open("/dashboard/payments");
  await page.locator('.live[data-state="live"]').waitFor();
  for (const fail of [(route) => route.abort(), (route) => route.fulfill({ status: 503 }), (route) => route.fulfill({ status: 429 })]) {
    let failed = 0;
    await page.route("**/dashboard/payments", (route) => failed++ < 3 ? fail(route) : route.continue());
    const charge = await demo.post("/v1/charges", { amount: 1237, currency: "usd", source: "tok_visa" });
    await page.locator(`[data-key="${charge.id}"]`).waitFor({ timeout: 60_000 });
    assert.ok(failed > 3, `${failed} updates`);
    await page.unroute("**/dashboard/payments");
  }
});

test("a page that is open while the server dies says so, and comes back by itself", async () => {
  const page = await open("/dashboard/payments");
  await page.locator('.live[data-state="live"]').waitFor();
  const heard = demo.heard();
  process.kill(demo.pid, "SIGKILL");
  await page.locator('.live[data-state="reconnecting"]').waitFor();
  assert.equal(await page.locator(".live").innerText(), "Reconnecting…");
  const icon = () => page.locator('link[rel="icon"]').getAttribute("href").then((href) => href.split("/").at(-1));
  assert.equal(await icon(), "favicon-away.svg");
  await demo.says(/serve is back as (\d+)/, heard);
  await page.locator('.live[data-state="live"]').waitFor({ timeout: 60_000 });
  assert.equal(await icon(), "favicon.svg");
  const charge = await until(() => demo.post("/v1/charges", { amount: 4321, currency: "usd", source: "tok_visa" }, "after the death").catch(() => undefined));
  await page.locator(`[data-key="${charge.id}"]`).waitFor({ timeout: 60_000 });
});

test("a tab in the background says in its title and its icon what became of an open payment", async () => {
  const intent = await demo.post("/v1/payment_intents", { amount: 2800, currency: "usd", "payment_method_types[]": "card" });
  const page = await open(`/dashboard/payments/${intent.id}`);
  const look = (hidden) => page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  const icon = () => page.locator('link[rel="icon"]').getAttribute("href");
  const before = await page.title();
  await look(true);
  await demo.post(`/v1/payment_intents/${intent.id}/confirm`, { payment_method: "pm_card_visa" });
  await page.waitForFunction(() => document.title.includes("Succeeded"), undefined, { timeout: 60_000 });
  assert.ok(!before.includes("Succeeded") && (await icon()).endsWith("favicon-news.svg"), `${before}, ${await icon()}`);
  assert.equal(await page.locator("h1 ~ * .badge").first().innerText(), "Succeeded");
  await look(false);
  assert.ok((await icon()).endsWith("favicon.svg"));
  assert.deepEqual(page.complaints, []);
});

test("whose session has ended is told so, and not that the server is away", async () => {
  const page = await open("/dashboard/payments");
  await page.locator('.live[data-state="live"]').waitFor();
  for (const path of ["payments", "stream"]) { // what a server with a password answers to whoever has not given it
    await page.route(`**/dashboard/${path}`, (route) => route.fulfill({ status: 303, headers: { location: "/dashboard/login" } }));
  }
  await demo.kill();
  await page.locator('.live[data-state="expired"]').waitFor({ timeout: 60_000 });
  assert.equal(await page.locator(".live").innerText(), "Logged out: reload");
});

test("every link of a payment's timeline leads somewhere", async () => {
  for (const id of [made.survivor.id, made.intent.id]) {
    const page = await open(`/dashboard/payments/${id}`);
    const links = await page.locator(".timeline a, [aria-labelledby=requests] a").evaluateAll((all) => all.map((a) => a.href));
    assert.ok(links.length >= 3, `${id}: ${links}`);
    for (const link of new Set(links)) assert.equal((await fetch(link, { headers: { accept: "text/html" } })).status, 200, link);
  }
});

test("a payment made by the API appears by itself, also where eight tabs look on", async (t) => {
  const pay = async () => ({ id: (await demo.post("/v1/charges", { amount: 5151, currency: "usd", source: "tok_visa" })).id, at: Date.now() });
  const context = await browser.newContext();
  const tabs = [];
  for (let i = 0; i < 8; i++) {
    const tab = await watched(context, demo.base);
    await tab.goto(`${demo.base}/dashboard/payments`, { timeout: 60_000 });
    tabs.push(tab);
    if (i > 0 && i < 7) continue;
    await tab.locator('.live[data-state="live"]').waitFor({ timeout: 60_000 });
    const late = [];
    for (let n = 0; n < 5; n++) {
      const { id, at } = await pay();
      await Promise.all(tabs.map(async (tab) => {
        // waitForFunction looks at every frame, a locator every half a second
        await tab.waitForFunction((id) => document.querySelector(`[data-key="${id}"]`), id, { timeout: 60_000 });
        late.push(Date.now() - at);
      }));
    }
    late.sort((a, b) => a - b);
    t.diagnostic(`${tabs.length} tabs: within ${late[Math.floor(late.length / 2)]} ms in the median, ${late.at(-1)} ms at worst`);
  }
  assert.deepEqual(tabs.flatMap((tab) => tab.complaints), []);
  await context.close();
});

test("a page is live, too, while a tab that is gone keeps the lock of the stream", async () => {
  const context = await browser.newContext(), gone = await context.newPage();
  await gone.goto(`${demo.base}/healthz`);
  await gone.evaluate(() => { navigator.locks.request("ratchet-live", () => new Promise(() => {})); });
  const page = await watched(context, demo.base);
  await page.goto(`${demo.base}/dashboard/payments`);
  await page.locator('.live[data-state="live"]').waitFor({ timeout: 60_000 });
  const { id } = await demo.post("/v1/charges", { amount: 5252, currency: "usd", source: "tok_visa" });
  await page.locator(`[data-key="${id}"]`).waitFor({ timeout: 60_000 });
  assert.deepEqual(page.complaints, []);
  await context.close();
});

test("a payment's timeline has no event of another payment that was settled in the same batch", async () => {
  const about = { charge: made.charge.id, intent: made.intent.id };
  for (const id of Object.values(about)) {
    const page = await open(`/dashboard/payments/${id}`);
    const events = await page.locator('#payment a[href^="/dashboard/events/"]').allInnerTexts();
    assert.ok(events.length > 0, `${id} has no events`);
    for (const event of events) {
      const { object } = (await demo.get(`/v1/events/${event}`)).data;
      const named = [object.id, object.charge, object.payment_intent, object.latest_charge, object.payment_method, object.customer];
      assert.ok(named.includes(id) || object.object === "payment_method" || object.object === "customer", `${id} shows ${event} about ${object.object} ${object.id}`);
    }
  }
});
