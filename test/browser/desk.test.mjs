// How people find, watch and take away what the dashboard has: the search that lists while one types, files, the log
// that follows, and what is done to several payments at once.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";
import { accessible, launch, watched } from "./browser.mjs";
import { furnish, startDemo } from "./demo.mjs";

const shots = new URL("screenshots/", import.meta.url).pathname;
let demo, made, browser;

before(async () => {
  demo = await startDemo();
  made = await furnish(demo);
  browser = await launch();
  mkdirSync(shots, { recursive: true });
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

const open = async (path, options = {}) => {
  const page = await watched(await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options }), demo.base);
  await page.goto(demo.base + path);
  return page;
};

test("Ctrl K lists what it finds while one types, and the arrows choose", async () => {
  const page = await open("/dashboard");
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: "Search" });
  await page.getByRole("option", { name: "New payment", exact: true }).waitFor();
  for (const [words, name, where] of [
    ["rosen", /Jenny Rosen, jenny@example\.com/, `/dashboard/customers/${made.customer.id}`],
    ["two sledges", /Two sledges/, `/dashboard/payments/${made.intent.id}`],
    ["$120.00", /\$120\.00, Two sledges/, `/dashboard/payments/${made.intent.id}`],
    ["7000 jpy", /¥7,000/, `/dashboard/payments/${made.yen.id}`],
    [made.refund.id, new RegExp(made.refund.id), `/dashboard/payments/${made.charge.id}`],
    ["sledge", /product Sledge/i, `/dashboard/products/${made.product.id}`],
    ["new cust", /New customer/, "/dashboard/new/customer"],
  ]) {
    await page.goto(`${demo.base}/dashboard`);
    await page.keyboard.press("Control+k");
    await page.keyboard.type(words);
    await page.waitForFunction((typed) => document.querySelector("search-palette").shown === typed, words); // the list before has some of them, too
    const option = page.getByRole("option", { name }).first();
    await option.waitFor();
    for (let i = 0; i < 20 && (await option.getAttribute("aria-selected")) !== "true"; i++) await page.keyboard.press("ArrowDown");
    assert.equal(await field.getAttribute("aria-activedescendant"), await option.getAttribute("id"), words);
    assert.equal(await page.locator("[aria-selected=true]").count(), 1);
    await page.keyboard.press("Enter");
    await page.waitForURL(demo.base + where);
  }
  await page.goto(`${demo.base}/dashboard`);
  await page.keyboard.press("Control+k");
  await page.getByRole("group", { name: "Recent" }).getByRole("option", { name: made.customer.id }).waitFor();
  await field.fill("sledge");
  await page.getByRole("option", { name: /Two sledges/ }).waitFor();
  assert.equal(await page.getByRole("group", { name: "Recent" }).count(), 0);
  await page.locator("docs-results [role=option]").first().waitFor({ state: "attached", timeout: 3000 }).catch(() => {}); // the documentation may have nothing
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${shots}palette.${colorScheme}.${width}.png` });
      await accessible(page);
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
  }
  assert.deepEqual(page.complaints, []);
});

test("a question mark lists all keys, but not while one types", async () => {
  const page = await open("/dashboard/payments");
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await keys.getByText("Next and previous row of a list").waitFor();
  await page.screenshot({ path: `${shots}keys.light.1280.png` });
  await accessible(page);
  await page.keyboard.press("Escape");
  assert.equal(await keys.isVisible(), false);
  await page.keyboard.press("/");
  await page.keyboard.type("what?");
  assert.equal(await keys.isVisible(), false);
  assert.equal(await page.getByRole("combobox", { name: "Search" }).inputValue(), "what?");
  await page.getByRole("button", { name: "All keys" }).click();
  assert.ok(await keys.isVisible());
  assert.deepEqual(page.complaints, []);
});

test("without JavaScript the page of results has the same objects, pages and actions", async () => {
  const page = await open("/dashboard/search?q=customer", { javaScriptEnabled: false });
  await page.getByRole("link", { name: "New customer" }).waitFor();
  assert.equal(await page.getByRole("link", { name: /Customers/ }).count(), 2, "in the navigation and in the results");
});

test("the log follows what arrives, until it is paused", async () => {
  const page = await open("/dashboard/requests?path=/v1/customers");
  await page.locator('.live[data-state="live"]').waitFor();
  const rows = page.locator("tbody tr"), before = await rows.count();
  await demo.post("/v1/customers", { name: "Followed" });
  await rows.nth(before).waitFor();
  await page.getByRole("link", { name: "Pause" }).click();
  await page.getByRole("link", { name: "Follow" }).waitFor();
  assert.equal(await page.locator(".live").count(), 0);
  const paused = await rows.count();
  await demo.post("/v1/customers", { name: "Not followed" });
  await page.waitForTimeout(1000); // longer than a page that follows takes
  assert.equal(await rows.count(), paused);
  await accessible(page);
  await page.getByRole("link", { name: "Follow" }).click();
  await rows.nth(paused).waitFor();
  assert.deepEqual(page.complaints, []);
});

test("a request is sent again: the same bytes with the same key, a new request with a new one", async () => {
  const request = await demo.post("/v1/charges", { amount: 2900, currency: "usd", source: "tok_visa", description: "Once more" }, "once-more")
    .then(async (charge) => (await (await fetch(`${demo.base}/dashboard/requests?key=once-more`)).text()).match(/req_\w+/)[0]);
  for (const javaScriptEnabled of [false, true]) {
    const page = await open(`/dashboard/requests/${request}`, { javaScriptEnabled });
    for (const [language, words] of [["Python", "urllib.request"], ["Node", "await fetch("], ["Go", "package main"], ["curl", "--data-urlencode"]]) {
      await page.locator(".tabs label", { hasText: language }).click();
      assert.equal(await page.locator(".tabs .tab:visible").count(), 1);
      assert.ok((await page.locator(".tabs .tab:visible code").innerText()).includes(words), language);
    }
    await page.getByRole("button", { name: "Send with the same key" }).click();
    await page.getByText(/The same \d+ bytes came back/).waitFor();
    if (javaScriptEnabled) {
      await page.screenshot({ path: `${shots}again.light.1280.png` });
      await accessible(page);
    }
    await page.getByRole("link", { name: "Back to the request" }).click();
    await page.getByRole("button", { name: "Send with a new key" }).click();
    await page.getByText("Sent again with a new key.").waitFor();
    assert.ok(!page.url().includes(request));
    assert.deepEqual(page.complaints, []);
  }
  const { data } = await demo.get("/v1/charges?limit=5");
  assert.equal(data.filter((c) => c.description === "Once more").length, 3);
  const page = await open(`/dashboard/requests/${request}`, { viewport: { width: 360, height: 800 } });
  await page.locator(".tabs label", { hasText: "Go" }).click();
  await page.screenshot({ path: `${shots}samples.light.360.png`, fullPage: true });
  await accessible(page);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
});
