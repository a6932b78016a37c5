// How people find, watch and take away what the dashboard has: the search that lists while one types, files, the log
// that follows, and what is done to several payments at once.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { after, afterEach, before, test } from "node:test";
import { accessible, accessibleIn, launch, watched } from "./browser.mjs";
import { furnish, startDemo, until } from "./demo.mjs";

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
      await accessibleIn(page, colorScheme, width);
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
  }
  assert.deepEqual(page.complaints, []);
});

test("where nothing is found, the search says so", async () => {
  const page = await open("/dashboard");
  await page.keyboard.press("Control+k");
  const none = page.locator(".palette .none");
  assert.ok(!await none.isVisible());
  await page.locator(".palette input").pressSequentially("zzqx");
  await none.waitFor();
  assert.equal(await none.innerText(), "No results.");
  await page.locator(".palette input").fill("jenny");
  await page.locator('.palette [role="option"]').first().waitFor();
  assert.ok(!await none.isVisible());
  assert.deepEqual(page.complaints, []);
});

for (const javaScriptEnabled of [true, false]) {
  test(`a payment link is made from a suggested product, a payment for a suggested customer, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
    const page = await open("/dashboard/new/payment-link", { javaScriptEnabled });
    const product = page.locator("#price-options option", { hasText: "Sledge, $40.00" });
    await page.getByLabel("Product").fill(await product.getAttribute("value"));
    await page.getByRole("button", { name: "Create payment link" }).click();
    await page.locator("h1", { hasText: "Sledge" }).waitFor();

    await page.goto(`${demo.base}/dashboard/new/payment`);
    const customer = page.locator("#customer-options option", { hasText: "Jenny Rosen, jenny@example.com" }).first();
    await page.getByLabel("Customer").fill(await customer.getAttribute("value"));
    await page.getByLabel("Amount").fill("31");
    await page.getByRole("button", { name: "Create payment" }).click();
    await page.locator("h1", { hasText: "$31.00" }).waitFor();
    assert.equal(await page.locator("dd", { hasText: made.customer.id }).count(), 1);
    assert.deepEqual(page.complaints, []);
  });
}

test("a clock that is advanced lists what became due, without a reload", async () => {
  const page = await open("/dashboard/clock");
  await page.getByRole("button", { name: "+30 days" }).first().click();
  await page.getByText("Test time advanced by 30 days.").waitFor();
  await page.locator("#due-list tbody tr", { hasText: /became available|expired|arrived/ }).first().waitFor({ timeout: 60_000 });
  assert.deepEqual(page.complaints, []);
});

test("the bar for the checked payments stays in sight, and checked boxes are in one line", async () => {
  const page = await open("/dashboard/payments");
  const bar = page.locator("#selection"), boxes = page.locator('.pick input[type="checkbox"]');
  await boxes.first().check();
  assert.ok(await bar.evaluate((it) => it.getBoundingClientRect().bottom <= innerHeight), "the bar is below the window");
  const lefts = await boxes.evaluateAll((all) => [...new Set(all.map((it) => Math.round(it.getBoundingClientRect().left)))]);
  assert.equal(lefts.length, 1, `the boxes begin at ${lefts}`);
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
  await page.goto(`${demo.base}/dashboard/payments`);
  assert.ok(!await page.getByText("Not live").isVisible(), "a page that needs no script says that it is not live");
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

test("the log of a failing integration says what is wrong, while one looks on, and has reads on demand", async () => {
  const page = await open("/dashboard/requests?status=error");
  await page.locator('.live[data-state="live"]').waitFor();
  const { error } = await demo.post("/v1/payment_intents", { amount: "12.50", currency: "usd", "card_number": "4242424242424242" }, "failing");
  assert.ok(error.message, JSON.stringify(error));
  const row = page.locator("tbody tr", { hasText: "failing" });
  await row.waitFor();
  assert.match(await row.innerText(), /POST.*payment_intents[^]*Failed[^]*400/);
  await row.getByRole("link").click();
  await page.getByRole("heading", { name: "Why it failed" }).waitFor();
  await page.getByText(error.message).waitFor();
  assert.ok(!(await page.content()).includes("4242424242424242"), "the page shows a card number");
  await accessible(page);
  await demo.get("/v1/balance");
  await page.goto(`${demo.base}/dashboard/requests`);
  const reads = page.locator("tbody tr", { hasText: "/v1/balance" });
  assert.equal(await reads.count(), 0);
  await page.getByLabel("GET requests").selectOption("yes");
  await page.getByRole("button", { name: "Filter" }).click();
  await reads.first().click();
  await page.getByText("A GET request changes nothing").waitFor();
  assert.deepEqual(page.complaints, []);
});

test("a request is sent again: the same bytes with the same key, a new request with a new one", async () => {
  const request = await demo.post("/v1/charges", { amount: 2900, currency: "usd", source: "tok_visa", description: "Once more" }, "once-more")
    .then(async (charge) => (await (await fetch(`${demo.base}/dashboard/requests?key=once-more`)).text()).match(/requests\/(req_\w+)/)[1]);
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
  const { data } = await demo.get("/v1/charges?limit=100"), seen = JSON.stringify(data.slice(0, 10).map(({ id, created, status, description }) => ({ id, created, status, description })));
  assert.equal(data.filter((c) => c.description === "Once more").length, 3, seen);
  const page = await open(`/dashboard/requests/${request}`, { viewport: { width: 360, height: 800 } });
  await page.locator(".tabs label", { hasText: "Go" }).click();
  await page.screenshot({ path: `${shots}samples.light.360.png`, fullPage: true });
  await accessible(page);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
});

// looked takes pictures of a page in both themes and widths, and checks each.
const looked = async (page, name) => {
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${shots}${name}.${colorScheme}.${width}.png`, fullPage: true });
      await accessibleIn(page, colorScheme, width);
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} scrolls sideways at ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
};

test("a payment links to its receipt, which anyone with the address can read", async () => {
  const page = await open(`/dashboard/payments/${made.charge.id}`);
  await page.getByRole("link", { name: "Receipt" }).click();
  await page.getByRole("heading", { name: "Receipt from Demo Shop" }).waitFor();
  await page.getByText("-$10.00").waitFor();
  await page.getByText("$37.11").waitFor();
  await looked(page, "receipt");
  assert.deepEqual(page.complaints, []);

  const stranger = await open(new URL(page.url()).pathname, { javaScriptEnabled: false, locale: "fr-FR" });
  await stranger.getByRole("heading", { name: "Reçu de Demo Shop" }).waitFor();
  const wrong = await fetch(page.url().slice(0, -3) + "abc");
  assert.equal(wrong.status, 404);

  const sold = await open(`/dashboard/payments/${made.reduced.payment_intent}`);
  await sold.getByRole("link", { name: "Receipt" }).click();
  await sold.getByText("Sledge").waitFor();
  await looked(sold, "receipt-items");
});

test("charts name the value of a day for the mouse and for the arrow keys, and show the same without JavaScript", async () => {
  await until(async () => (await fetch(`${demo.base}/dashboard/charts`).then((r) => r.text())).includes("recovered request in 7 days"));
  const page = await open("/dashboard/charts");
  const chart = page.locator("day-chart").first(), reading = chart.getByRole("status");
  await chart.focus();
  await page.keyboard.press("End");
  assert.match(await reading.textContent(), /: \$[\d,.]+, \d+ payments/);
  const today = await reading.textContent();
  await page.keyboard.press("ArrowLeft");
  assert.match(await reading.textContent(), /: \$0\.00, 0 payments/);
  await chart.locator("svg g").last().hover({ force: true });
  assert.equal(await reading.textContent(), today);
  await page.getByRole("heading", { name: "Webhook success" }).waitFor();
  await page.getByRole("heading", { name: "From crash to response" }).waitFor();
  await looked(page, "charts");
  assert.deepEqual(page.complaints, []);
  const plain = await open("/dashboard/charts?days=90", { javaScriptEnabled: false });
  assert.equal(await plain.locator("svg.bars").count(), 3);
  await plain.locator("summary", { hasText: "View as table" }).first().click();
  await plain.getByRole("columnheader", { name: "Volume" }).waitFor();
});

test("the emails of a shop are shown, and the page says that none is sent", async () => {
  const page = await open("/dashboard/emails");
  await page.getByText("Nothing is sent.").waitFor();
  await looked(page, "emails");
  await page.getByRole("link", { name: "Your refund from Demo Shop" }).first().click();
  await page.getByText("Demo Shop refunded $10.00 to your card.").waitFor();
  await page.getByText("Nothing is sent.").waitFor();
  await looked(page, "email");
  await page.getByRole("link", { name: "View receipt" }).click();
  await page.getByRole("heading", { name: "Receipt from Demo Shop" }).waitFor();
  assert.deepEqual(page.complaints, []);
});

for (const javaScriptEnabled of [true, false]) {
  test(`checked payments are downloaded, and refunded once each, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
    const bought = [];
    for (const amount of [3100, 3200]) bought.push(await demo.post("/v1/charges", { amount, currency: "usd", source: "tok_visa", description: "To be refunded" }));
    const page = await open("/dashboard/payments", { javaScriptEnabled });
    for (const charge of bought) await page.getByRole("checkbox", { name: new RegExp(charge.id) }).check();
    if (javaScriptEnabled) { // a payment that arrives must not take the checks away
      await page.locator('.live[data-state="live"]').waitFor();
      await demo.post("/v1/charges", { amount: 1234, currency: "usd", source: "tok_visa" });
      await page.waitForTimeout(500); // longer than an update takes
      assert.equal(await page.locator("[name=selected]:checked").count(), 2);
      await looked(page, "payments-checked");
    }
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download CSV" }).click()]);
    const rows = (await readFile(await file.path(), "utf8")).trim().split("\n");
    assert.equal(rows.length, 3);
    for (const charge of bought) assert.ok(rows.some((row) => row.startsWith(charge.id)));
    await page.getByRole("button", { name: "Refund…" }).click();
    await page.getByRole("heading", { name: "Refund 2 payments?" }).waitFor();
    if (javaScriptEnabled) await looked(page, "refunds-asked");
    await page.getByRole("button", { name: "Refund $63.00" }).click();
    await page.getByRole("heading", { name: "Refunds", exact: true }).waitFor();
    assert.equal(await page.locator('td[data-label="Result"] .badge.good').count(), 2);
    if (javaScriptEnabled) await looked(page, "refunds-done");
    for (const charge of bought) assert.equal((await demo.get(`/v1/charges/${charge.id}`)).amount_refunded, charge.amount);
    assert.deepEqual(page.complaints, []);
  });

  test(`a list is limited to days, and the view is saved under a name, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
    const page = await open("/dashboard/payments?state=refunded", { javaScriptEnabled });
    await page.getByRole("link", { name: "7 days" }).click();
    await page.locator('a.chip[aria-current="true"]', { hasText: "7 days" }).waitFor();
    await page.getByText("Save this view").click();
    await page.getByLabel("Name of the view").fill("Refunds of the week");
    await page.getByRole("button", { name: "Save view" }).click();
    const saved = page.getByRole("navigation", { name: "Saved views" }).getByRole("link", { name: "Refunds of the week" });
    await saved.waitFor();
    await page.goto(`${demo.base}/dashboard/payments`);
    await saved.click();
    await page.waitForURL((url) => url.searchParams.get("state") === "refunded" && url.searchParams.has("from"));
    if (javaScriptEnabled) await looked(page, "views");
    await page.getByText("Edit views").click();
    await page.getByRole("button", { name: "Remove Refunds of the week" }).click();
    await page.getByText("View removed.").waitFor();
    assert.equal(await saved.count(), 0);
    await page.goto(`${demo.base}/dashboard/events?to=2020-01-01`);
    await page.getByRole("heading", { name: "No events" }).waitFor();
    if (javaScriptEnabled) await looked(page, "events-dates");
    assert.deepEqual(page.complaints, []);
  });
}

for (const javaScriptEnabled of [true, false]) {
  test(`the payout schedule is changed on the balance page, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
    const day = javaScriptEnabled ? "tuesday" : "friday", page = await open("/dashboard/balance", { javaScriptEnabled });
    await page.locator("summary", { hasText: /^Paid out/ }).click();
    assert.deepEqual(await Promise.all([page.getByText("If weekly, on").isVisible(), page.getByLabel("If monthly, on day").isVisible()]), [await page.getByLabel("Pay out").inputValue() === "weekly", false]);
    await page.getByLabel("Pay out").selectOption("weekly");
    for (const box of await page.locator('[name="weekday"]').all()) await box.setChecked(await box.getAttribute("value") === day);
    if (javaScriptEnabled) await accessible(page);
    await page.getByRole("button", { name: "Save schedule" }).click();
    await page.getByText("Payout schedule saved.").waitFor();
    await page.getByText(new RegExp(`^Paid out weekly: ${day} · change$`, "i")).waitFor();
    const { payments } = await demo.get("/v1/balance_settings");
    assert.deepEqual(payments.payouts.schedule, { interval: "weekly", weekly_payout_days: [day] });
    assert.deepEqual(page.complaints, []);
  });
}
