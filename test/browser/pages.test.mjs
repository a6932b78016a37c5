import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { launch, watched } from "./browser.mjs";
import { fetchUntil, until } from "./demo.mjs";
import { furnished } from "./every-page.mjs";

let demo, made, everyPage, browser, request, event, posting, firstPid;

before(async () => {
  ({ demo, made, everyPage, request, event, posting, firstPid } = await furnished());
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

// ofLogins are pages that need a user, or that lead elsewhere while there is none: login.test.mjs looks at them.
const ofLogins = ["/dashboard/login", "/dashboard/login/code", "/dashboard/account", "/dashboard/account/totp", "/dashboard/users"];

test("every page that the dashboard has is in the list", () => {
  const pages = Object.values(everyPage).map((path) => path.replace(/\?.*/, "")), routes = new Set();
  for (const part of ["dashboard", "login"]) {
    const folder = new URL(`../../internal/${part}/`, import.meta.url);
    for (const file of readdirSync(folder, { recursive: true }).filter((it) => /(?<!_test)\.go$/.test(it))) {
      for (const [, path] of readFileSync(new URL(file, folder), "utf8").matchAll(/"GET (\/[^"]*)"/g)) routes.add(path);
    }
  }
  assert.ok(routes.size > 40, `only ${routes.size} routes were found`);
  const isPage = (path) => !/\.csv$|\/stream$|\/story$/.test(path); // the others are files, and parts of pages
  const shown = (route) => { const like = new RegExp(`^${route.replace("{$}", "").replace(/\{\w+\}/g, "[^/]+")}$`); return pages.some((path) => like.test(path)); };
  assert.deepEqual([...routes].filter((route) => isPage(route) && !shown(route)).sort(), [...ofLogins].sort());
});

test("a long answer of a webhook's server is shown in a cell that wraps", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 1280, height: 900 } }), demo.base);
  await page.goto(`${demo.base}/dashboard/webhooks/${made.broken.id}`);
  for (const answer of ["a server of which we know nothing else hung up ".repeat(6), "nowhere.example.com/".repeat(20)]) {
    const seen = await page.locator(".table-wrap").evaluate((region, text) => {
      const cell = region.querySelector('[data-label="Latest response"]');
      cell.querySelector(".badge").outerHTML = '<span class="badge bad"><span class="why"></span></span>';
      cell.querySelector(".why").textContent = text;
      const box = cell.querySelector(".badge").getBoundingClientRect();
      return { region: region.scrollWidth - region.clientWidth, page: document.documentElement.scrollWidth - innerWidth, out: box.right - cell.getBoundingClientRect().right };
    }, answer);
    assert.ok(seen.region <= 1 && seen.page <= 0 && seen.out <= 0, `${answer} is wider by ${JSON.stringify(seen)}`);
  }
});

test("every link of the dashboard leads somewhere", async () => {
  const { missing, nowhere, ...pages } = everyPage, seen = new Set(), todo = ["/docs/api", ...Object.values(pages)];
  while (todo.length > 0 && seen.size < 400) {
    const path = todo.shift();
    if (seen.has(path)) continue;
    seen.add(path);
    const answer = await fetch(demo.base + path, { headers: { accept: "text/html" } });
    assert.ok(answer.status === 200, `${path} answers ${answer.status}`);
    if (!answer.headers.get("content-type").includes("html")) continue;
    for (const [, href] of (await answer.text()).matchAll(/<a [^>]*href="([^"#]*)/g)) {
      const next = href.replaceAll("&amp;", "&");
      if (next.startsWith("/")) todo.push(next);
    }
  }
  assert.deepEqual(Object.values(pages).filter((path) => !seen.has(path)), [], "pages that were not reached");
  assert.ok(seen.size > 60, `only ${seen.size} pages were found`);
});

test("the inspector tells who died, who took over, and what it came to", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await page.goto(`${demo.base}/dashboard/requests/${request}`);
  const story = await page.locator(".timeline").innerText();
  const order = [/POST \/v1\/charges/, new RegExp(`process ${firstPid} stopped responding`), /took over the request/, /charge\.succeeded/, /response 200 stored/].map((p) => story.search(p));
  assert.ok(order.every((at, i) => at >= 0 && (i === 0 || at > order[i - 1])), `${order}\n${story}`);
  assert.equal(await page.locator(".rail .lane").count(), 2);
  assert.equal(await page.locator(".rail .death").count(), 1);
  assert.match(await page.locator(".rail").getAttribute("aria-label"), /in 2 attempts, 1 of them interrupted/);
  assert.equal(await page.locator(".call-box tbody tr").count(), 1, "the acquirer moved the card once");
  const words = await page.locator(".rail-words").innerText();
  assert.match(words, new RegExp(`Process ${firstPid}.* started this request and stopped responding after “charge recorded”\\.`));
  assert.match(words, /later process \d+ \((API|worker)\) resumed from “charge recorded” and finished it\./);
  assert.match(words, /Its records show one sale of \$99\.00\./);
});

test("on a phone the drawing of a request stands upright and fits", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 320, height: 900 } }), demo.base);
  await page.goto(`${demo.base}/dashboard/requests/${request}`);
  const drawing = page.locator(".rail-wrap svg:visible");
  assert.equal(await drawing.count(), 1);
  assert.equal(await drawing.locator(".lane").count(), 2);
  assert.equal(await drawing.locator(".death").count(), 1);
  const { scrolls, cut } = await drawing.evaluate((svg) => {
    const frame = svg.closest(".card").getBoundingClientRect();
    return { scrolls: svg.parentElement.scrollWidth > svg.parentElement.clientWidth,
      cut: [...svg.querySelectorAll("text")].filter((t) => t.getBoundingClientRect().left < frame.left || t.getBoundingClientRect().right > frame.right).map((t) => t.textContent) };
  });
  assert.equal(scrolls, false);
  assert.deepEqual(cut, []);
});

test("on a phone a row of a table is a card that names its columns, and one menu leads everywhere, without JavaScript", async () => {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${demo.base}/dashboard/payments`);
  const row = page.locator("tbody tr").first(), labels = [];
  for (const cell of await row.locator("td[data-label]:not(.states)").all()) {
    labels.push(await cell.evaluate((it) => getComputedStyle(it, "::before").content));
    const { x, width } = await cell.boundingBox();
    assert.ok(x >= 0 && x + width <= 360);
  }
  assert.deepEqual(labels, ['"Card"', '"Description"', '"Created"', '"Payment"']);
  const menu = page.getByRole("navigation", { name: "Dashboard" });
  assert.equal(await menu.isVisible(), false);
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  assert.equal(await menu.getByRole("link", { name: "Payments" }).getAttribute("aria-current"), "page");
  await page.keyboard.press("Escape");
  assert.equal(await menu.isVisible(), false);
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await menu.getByRole("link", { name: "Webhooks" }).click();
  await page.waitForURL("**/dashboard/webhooks");
  await context.close();
});

test("at 1440 pixels no table is wider than its card, and no copy button lies outside", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 1440, height: 900 } }), demo.base);
  for (const path of ["/dashboard/payments", "/dashboard/customers", "/dashboard/requests", "/dashboard/checkout", "/dashboard/payouts"]) {
    await page.goto(demo.base + path);
    const seen = await page.locator(".table-wrap").first().evaluate((region) => {
      const right = region.getBoundingClientRect().right;
      return { rows: region.querySelectorAll("tbody tr").length, wider: region.scrollWidth - region.clientWidth,
        outside: [...region.querySelectorAll("button, a")].filter((it) => it.getBoundingClientRect().right > right).length };
    });
    assert.ok(seen.rows > 0 && seen.wider <= 1 && seen.outside === 0, `${path}: ${JSON.stringify(seen)}`);
  }
});

test("no name of a station is cut off in the drawing of a request", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 1440, height: 900 } }), demo.base);
  const of = (await fetchUntil(`${demo.base}/dashboard/checkout/${made.session.id}`, "req_")).match(/req_\w+/)[0];
  for (const id of [of, request]) {
    await page.goto(`${demo.base}/dashboard/requests/${id}`);
    const { names, cut } = await page.locator(".rail-wrap svg:visible").evaluate((svg) => {
      const frame = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")];
      const out = (it) => { const box = it.getBoundingClientRect(); return box.top < frame.top - 1 || box.bottom > frame.bottom + 1 || box.left < frame.left - 1 || box.right > frame.right + 1; };
      return { names: texts.length, cut: texts.filter(out).map((it) => it.textContent) };
    });
    assert.ok(names > 2, `the drawing has ${names} texts`);
    assert.deepEqual(cut, []);
  }
});

test("the figures of a row stand at one height, however long what they are called is", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 768, height: 900 } }), demo.base);
  await page.goto(`${demo.base}/dashboard`);
  const tops = await page.locator(".proof dd:not(.why)").evaluateAll((all) => all.map((it) => it.getBoundingClientRect().top));
  assert.equal(tops.length, 4);
  assert.equal(new Set(tops).size, 1, tops.join());
});

test("on a phone a chapter begins on the first screen, and its place in the contents is in sight", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 360, height: 640 } }), demo.base);
  for (const path of ["/docs/tour/09-payment-intents", "/docs/api/webhook-endpoints"]) {
    await page.goto(demo.base + path);
    const seen = (selector) => page.locator(selector).evaluate((it) => { const box = it.getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth && box.bottom < innerHeight; });
    assert.ok(await seen("h1"), `${path} begins below`);
    assert.ok(await seen(".doc-nav > ul [aria-current], .doc-nav .here"), `${path} is not in sight among its neighbours`);
  }
});

test("a double click on Refund refunds once, and a stranger's form refunds nothing", async () => {
  const charge = await demo.post("/v1/charges", { amount: 3000, currency: "usd", source: "tok_visa" });
  const page = await watched(await browser.newContext(), demo.base);
  await page.goto(`${demo.base}/dashboard/payments/${charge.id}`);
  await page.getByLabel("Amount, USD").fill("12.50");
  await page.getByRole("button", { name: "Refund" }).dblclick();
  await page.getByText("$12.50 refunded.").waitFor();
  const { data } = await demo.get(`/v1/refunds?charge=${charge.id}`);
  assert.deepEqual(data.map((r) => r.amount), [1250]);
  const forged = await fetch(`${demo.base}/dashboard/payments/${charge.id}/refund`, { method: "POST", body: new URLSearchParams({ amount: "1", key: "forged" }) });
  assert.equal(forged.status, 403);
});

test("without JavaScript a hold is captured, and lists and filters work", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${demo.base}/dashboard/payments?state=uncaptured`);
  assert.equal(await page.locator(".search-button kbd").isVisible(), false, "a key that does nothing is not offered");
  await page.getByRole("link", { name: "$42.00" }).first().click();
  await page.getByRole("button", { name: "Capture" }).click();
  await page.getByText("$42.00 captured.").waitFor();
  await page.goto(`${demo.base}/dashboard/payments`);
  const first = await page.locator("tbody tr").first().getAttribute("data-key");
  await page.getByRole("link", { name: "Older" }).click();
  assert.notEqual(await page.locator("tbody tr").first().getAttribute("data-key"), first);
  await page.getByRole("link", { name: "Newer" }).click();
  assert.equal(await page.locator("tbody tr").first().getAttribute("data-key"), first);
});

test("a payment appears in an open dashboard by itself, and the trial balance stays level", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await page.goto(`${demo.base}/dashboard/payments`);
  await page.locator('.live[data-state="live"]').waitFor();
  const charge = await demo.post("/v1/charges", { amount: 7777, currency: "usd", source: "tok_visa" });
  const made = Date.now();
  await page.locator(`[data-key="${charge.id}"]`).waitFor();
  const late = Date.now() - made;
  assert.ok(late < 5000, `it took ${late} ms`);
  await page.goto(`${demo.base}/dashboard/ledger`);
  await page.locator('.live[data-state="live"]').waitFor();
  const before = await page.locator(".trial").innerText();
  await demo.post("/v1/charges", { amount: 8888, currency: "usd", source: "tok_visa" });
  await until(async () => (await page.locator(".trial").innerText()) !== before);
  assert.match(await page.locator(".trial .diff").innerText(), /difference\s+0$/);
});

test("any id that is pasted into Ctrl K opens its page", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  const names = { [made.charge.id]: /payments\//, [made.refund.id]: /payments\/ch_/, [made.customer.id]: /customers\//, [event]: /events\//,
    [made.intent.id]: /payments\/pi_/, [made.session.id]: /checkout\/cs_/, [made.dispute.id]: /disputes\//, [made.payout.id]: /payouts\//,
    [made.endpoint.id]: /webhooks\/we_/, [made.clock.id]: /clock$/, [made.intent.latest_charge]: /payments\/pi_/,
    [request]: /requests\//, [posting]: /ledger\//, survivor: /requests\//, "jenny@example.com": /customers\/cus/, 4242: /payments\?last4=4242/ };
  for (const [name, where] of Object.entries(names)) {
    await page.goto(`${demo.base}/dashboard/keys`);
    await page.keyboard.press("Control+k");
    await page.keyboard.type(name);
    await page.keyboard.press("Enter");
    await page.waitForURL(where);
  }
});

test("the colors that were chosen stay, from the first byte of a page", async () => {
  const page = await watched(await browser.newContext({ colorScheme: "light" }), demo.base);
  await page.goto(demo.base);
  await page.locator("theme-button button").click();
  await page.locator("theme-button button").click();
  await page.goto(`${demo.base}/dashboard`);
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), "dark");
});
