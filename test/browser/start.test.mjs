// What newcomers read first, and the demo's climax: they predict, they press Kill, and the
// order tells what happened.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { accessible, accessibleIn, launch, share, watched } from "./browser.mjs";
import { startDemo, until } from "./demo.mjs";

const shots = new URL("screenshots/", import.meta.url).pathname;
const patience = { timeout: 90_000 };
let demo, browser;

before(async () => {
  demo = await startDemo();
  browser = await launch();
  mkdirSync(shots, { recursive: true });
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

const pages = { front: "/", index: "/docs", stop: "/docs/start/05-the-derived-key", last: "/docs/start/07-try-it", review: "/docs/design-review",
  exercises: "/docs/exercises", go: "/docs/source/internal/phase/wait.go", sql: "/docs/source/migrations/000010_inbox.up.sql",
  folder: "/docs/source/internal", found: "/docs/search?q=kill+fence", processes: "/dashboard/processes" };

// read are all pages of the tour and about the lab, from their folders.
const read = Object.fromEntries(["start", "lab", "tour"].flatMap((folder) => readdirSync(new URL(`../../docs/${folder}/`, import.meta.url))
  .map((file) => file.replace(/\.md$/, "")).map((name) => [`${folder}-${name}`, `/docs/${folder}/${name}`])));

test("every page of the tour and about the lab is in order on a phone", async (t) => {
  assert.ok(Object.keys(read).length > 30, `only ${Object.keys(read).length} pages were found`);
  const context = await browser.newContext({ viewport: { width: 360, height: 900 }, reducedMotion: "reduce" });
  const page = await watched(context, demo.base);
  for (const [name, path] of Object.entries(share(read))) {
    await t.test(name, async () => {
      page.complaints.length = 0;
      assert.equal((await page.goto(demo.base + path)).status(), 200);
      await page.evaluate(() => { for (const closed of document.querySelectorAll(".lab-reveal")) closed.open = true; });
      await page.screenshot({ path: `${shots}${name}.360.png`, fullPage: true });
      await accessible(page);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
      assert.deepEqual(page.complaints, []);
    });
  }
  await context.close();
});

for (const width of [1440, 360]) {
  test(`the first pages are in order, light and dark, ${width} pixels wide`, async (t) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, reducedMotion: "reduce" });
    const page = await watched(context, demo.base);
    for (const [name, path] of Object.entries(share(pages))) {
      await t.test(name, async () => {
        page.complaints.length = 0;
        assert.equal((await page.goto(demo.base + path)).status(), 200);
        for (const theme of width > 400 ? ["light", "dark"] : ["light"]) {
          await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
          await page.evaluate(() => { for (const closed of document.querySelectorAll(".lab-reveal")) closed.open = true; });
          await page.screenshot({ path: `${shots}start-${name}.${theme}.${width}.png` });
          await accessibleIn(page, theme, width);
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
        assert.deepEqual(page.complaints, []);
      });
    }
    await context.close();
  });
}

test("a newcomer starts at the front page, predicts wrong, sees why, and learns what the derived key is for", async () => {
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  await page.goto(demo.base);
  await page.getByRole("link", { name: /Why is that hard/ }).click();
  await page.waitForURL("**/docs/start/01-why-it-is-hard");
  assert.equal(await page.locator(".lab-why").isVisible(), false, "the answer is shown before the question is answered");
  await page.getByRole("button", { name: "1", exact: true }).click();
  assert.match(await page.locator(".lab-judgment").innerText(), /No: it is 2\./);
  await page.locator('[data-do="last"]').click();
  assert.equal(await page.locator("[data-bank]").innerText(), "2");
  assert.match(await page.locator(".lab-why").innerText(), /^Twice\./);
  for (let stop = 2; stop <= 7; stop++) {
    await page.locator('[rel="next"]').click();
    await page.waitForURL(`**/docs/start/0${stop}-*`);
  }
  assert.match(await page.locator("article").innerText(), /Stop 7 of 7/);
  await page.getByRole("button", { name: "the derived key" }).click();
  assert.match(await page.locator(".lab-judgment").innerText(), /^Right\./);
  await page.goto(`${demo.base}/docs/start/05-the-derived-key`);
  await page.getByRole("button", { name: "1", exact: true }).click();
  assert.match(await page.locator(".lab-why").innerText(), /a second call to the bank, by any server, is the same call/);
  assert.deepEqual(page.complaints, []);
});

test("without JavaScript a stop is read, its run is seen, and the documentation is searched", async () => {
  const page = await watched(await browser.newContext({ javaScriptEnabled: false }), demo.base);
  await page.goto(`${demo.base}/docs/start/01-why-it-is-hard`);
  await page.locator(".lab-reveal > summary").click();
  assert.match(await page.locator(".lab-log").innerText(), /is killed \(SIGKILL\)[\s\S]*Our books say 1, the bank says 2/);
  await page.goto(`${demo.base}/docs`);
  await page.getByRole("searchbox").fill("derived key");
  await page.getByRole("button", { name: "Search" }).click();
  await page.waitForURL("**/docs/search?q=derived+key");
  await page.locator("#found a", { hasText: "5. The derived key" }).first().click();
  await page.waitForURL("**/docs/start/05-the-derived-key");
});

test("Ctrl K finds headings of the documentation while they are typed", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  for (const path of ["/docs", "/dashboard"]) {
    await page.goto(demo.base + path);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("liveness, fence");
    await page.locator("docs-results a", { hasText: "Claim, lease, liveness, fence" }).click();
    await page.waitForURL("**/docs/tour/02-the-engine#claim-lease-liveness-fence");
  }
  await page.goto(`${demo.base}/docs/search?q=${encodeURIComponent("<script>alert(1)</script>")}`);
  assert.match(await page.locator("#found").innerText(), /<script>alert\(1\)<\/script>/);
  assert.deepEqual(page.complaints, []);
});

test("a name in the documentation leads to its line, and only the source is shown", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await page.goto(`${demo.base}/docs/tour/02-the-engine`);
  await page.getByRole("link", { name: "internal/phase/serve.go:Serve" }).first().click();
  await page.waitForURL("**/docs/source/internal/phase/serve.go#L*");
  assert.match(await page.locator(".line:target").innerText(), /^\d+\s*func \(e \*Engine\) Serve|Serve\(/);
  assert.ok(await page.locator(".line:target .k").count(), "it has no colors");
  await page.goto(`${demo.base}/docs/tour/02-the-engine`);
  await page.getByRole("link", { name: "migrations/000003_requests.up.sql:run_moves_forward" }).first().click();
  await page.waitForURL("**#L*");
  assert.match(await page.locator(".line:target").innerText(), /FUNCTION run_moves_forward/);
  for (const path of ["go.mod/..", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "internal/nothing.go", ".git/config", "/etc/passwd"]) {
    const response = await fetch(`${demo.base}/docs/source/${path}`);
    assert.ok(response.status === 404 || new URL(response.url).pathname === "/docs/source" || !(await response.text()).includes("root:"), path);
  }
  assert.equal((await fetch(`${demo.base}/docs/source/internal/nothing.go`)).status, 404);
});

test("commands in the documentation have the address that they are served from", async () => {
  for (const path of ["/docs/tour/01-a-charge", "/docs/switching", "/docs/tour/15-the-shop"]) {
    const text = await fetch(demo.base + path).then((r) => r.text());
    assert.ok(text.includes(demo.base) && !text.includes("http://127.0.0.1:8080"), path);
  }
});

// buy goes to checkout with something to kill, fills in the card, and presses Pay.
async function buy(page, crash) {
  await page.locator(`form[action="/shop/buy"]:has(input[name="crash"][value="${crash}"]) button`).click();
  await page.waitForURL("**/c/pay/**");
  await page.getByRole("button", { name: "Fill in a test card" }).click();
  await page.locator(".submit").click();
}

test("the server is killed with a button while it charges; the page says so long enough, and the order tells the crash", patience, async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await page.goto(`${demo.base}/shop`);
  await page.locator('form[action="/shop/buy"] button').click();
  await page.waitForURL("**/c/pay/**?crash=server*");
  await page.evaluate(() => { document.querySelector(".lost").hidden = false; });
  await accessible(page);
  await page.goBack();
  await buy(page, "server");
  await until(async () => (await demo.get("/v1/payment_intents?limit=1")).data?.[0]?.status === "processing");
  const heard = demo.heard();
  await page.getByRole("button", { name: "Kill the server" }).click();
  await page.locator(".lost", { hasText: "Connection lost. You will not be charged twice." }).waitFor(patience);
  const lost = Date.now();
  await demo.dies(heard);
  await page.locator('[data-step="again"].done').waitFor(patience);
  await page.screenshot({ path: `${shots}start-lost.png`, fullPage: true });
  await page.locator('.lost [data-step="paid"].done').waitFor(patience);
  assert.equal(await page.locator(".lost .steps .done").count(), 3);
  assert.ok(Date.now() - lost >= 2400, "Connection lost was not shown long enough to be read");
  await page.waitForURL("**/shop/orders/**", patience);
  await page.locator('[data-state="paid"]').waitFor(patience);
  const story = page.frameLocator("iframe.recovery");
  await story.getByText("It survived a crash.").waitFor(patience);
  await story.locator("svg:visible .death").waitFor();
  assert.match(await story.locator("body").innerText(), /Its records show one sale of \$18\.00/);
  await accessible(page);
  await page.screenshot({ path: `${shots}start-order.png`, fullPage: true });
  const charges = (await demo.get("/v1/charges")).data.filter((c) => c.status === "succeeded");
  assert.equal(charges.length, 1);

  // "Buy another, and kill the worker this time"
  await buy(page, "worker");
  const before = demo.heard();
  await page.getByRole("button", { name: "Kill the worker" }).click();
  await demo.says(/work is back as (\d+)/, before);
  await page.waitForURL("**/shop/orders/**", patience);
  await page.locator('[data-state="paid"]').waitFor(patience);
  await page.frameLocator("iframe.recovery").getByText("No process that worked on this order crashed.").waitFor(patience);
});

test("processes are killed from the processes page and the front page, without JavaScript", async () => {
  const page = await watched(await browser.newContext({ javaScriptEnabled: false }), demo.base);
  await page.goto(`${demo.base}/dashboard/processes`);
  let heard = demo.heard();
  await page.locator("tr", { hasText: "Worker" }).filter({ hasText: "Running" }).getByRole("button", { name: /^Kill process/ }).click();
  await page.getByRole("heading", { name: /^Process \d+ was killed$/ }).waitFor();
  await demo.says(/work is back as (\d+)/, heard);
  await page.goto(demo.base);
  heard = demo.heard();
  const pid = demo.pid;
  await page.getByRole("button", { name: "Kill this server" }).click();
  await page.getByRole("heading", { name: `Process ${pid} was killed` }).waitFor();
  await demo.dies(heard);
  await page.getByRole("link", { name: "See which processes run now" }).click();
  assert.match(await page.locator("table", { hasText: "Last heartbeat" }).innerText(), new RegExp(`${demo.pid}`));
});

test("no other site's page can kill, nor can a form without our token, nor a caller without the secret", async () => {
  const pid = demo.pid, body = () => new URLSearchParams({ process: String(pid), crash: "server" });
  const other = { origin: "https://example.com", "sec-fetch-site": "cross-site" };
  for (const headers of [other, {}]) {
    const response = await fetch(`${demo.base}/dashboard/kill`, { method: "POST", body: body(), headers });
    assert.equal(response.status, 403);
  }
  const session = await demo.post("/v1/checkout/sessions", { mode: "payment", success_url: "http://127.0.0.1/paid",
    "line_items[0][price_data][currency]": "usd", "line_items[0][price_data][unit_amount]": 1500, "line_items[0][price_data][product_data][name]": "A mug", "line_items[0][quantity]": 1 });
  assert.equal((await fetch(`${demo.base}/c/pay/${session.id}/kill`, { method: "POST", body: body(), headers: other })).status, 403);
  assert.equal((await fetch(`${demo.base}/dashboard/processes`)).status, 200);
  assert.equal(demo.pid, pid, "the server was killed");
});
