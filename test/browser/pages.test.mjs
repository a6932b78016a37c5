import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { accessibleIn, launch, share, watched } from "./browser.mjs";
import { buying } from "./buyer.mjs";
import { fetchUntil, furnish, startDemo, until } from "./demo.mjs";

const shots = new URL("screenshots/", import.meta.url).pathname;
let demo, made, browser, request, rejected, undecided, event, longest, posting, told, firstPid, email, link;

before(async () => {
  demo = await startDemo();
  firstPid = demo.pid;
  made = await furnish(demo);
  link = (await demo.post("/v1/payment_links", { "line_items[0][price]": made.product.default_price, "line_items[0][quantity]": 1 })).id;
  browser = await launch();
  const list = await fetchUntil(`${demo.base}/dashboard/requests?again=yes`, "req_");
  request = list.match(/req_\w+/)[0];
  await demo.post("/v1/charges", { amount: "a lot", currency: "usd", source: "tok_visa" }, "rejected");
  rejected = (await fetchUntil(`${demo.base}/dashboard/requests?key=rejected`, "req_")).match(/req_\w+/)[0];
  await demo.post("/v1/charges", { amount: 1234, currency: "usd", source: "tok_visa" }, "undecided", "retire_key");
  undecided = (await fetchUntil(`${demo.base}/dashboard/idempotency?state=needs_review`, "undecided")).match(/req_\w+/)[0];
  event = (await demo.get("/v1/events?limit=1")).data[0].id;
  longest = (await demo.get("/v1/events?limit=100")).data.reduce((a, b) => (b.type.length > a.type.length ? b : a)).id; // type: a page's title
  posting = made.survivor.balance_transaction;
  told = made.heard.find((h) => h.path === "/broken").id;
  await demo.post("/v1/charges", { amount: 2600, currency: "usd", source: "tok_visa", receipt_email: "jenny@example.com" });
  email = (await fetchUntil(`${demo.base}/dashboard/emails`, "/dashboard/emails/")).match(/dashboard\/emails\/(\w+)"/)[1];
  mkdirSync(shots, { recursive: true });
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

const everyPage = () => ({
  front: "/", overview: "/dashboard", overview_month: "/dashboard?days=30&currency=usd", emails: "/dashboard/emails", email: `/dashboard/emails/${email}`, reference_objects: "/docs/api/charges/objects", charts: "/dashboard/charts", charts_quarter: "/dashboard/charts?days=90", payments: "/dashboard/payments", payments_none: "/dashboard/payments?state=pending",
  payments_filtered: "/dashboard/payments?state=succeeded&min=45&max=nonsense&brand=visa",
  payment: `/dashboard/payments/${made.survivor.id}`, payment_held: `/dashboard/payments/${made.held.id}`,
  intent: `/dashboard/payments/${made.intent.id}`, intent_incomplete: `/dashboard/payments/${made.incomplete.id}`,
  intent_held: `/dashboard/payments/${made.intentHeld.id}`, intent_declined: `/dashboard/payments/${made.declined.id}`,
  checkout: "/dashboard/checkout", checkout_none: "/dashboard/checkout?state=expired", session: `/dashboard/checkout/${made.session.id}`,
  session_reduced: `/dashboard/checkout/${made.reduced.id}`, payment_reduced: `/dashboard/payments/${made.reduced.payment_intent}`,
  new: "/dashboard/new", new_payment: "/dashboard/new/payment", new_link: "/dashboard/new/link", new_customer: "/dashboard/new/customer",
  new_product: "/dashboard/new/product", new_payment_link: "/dashboard/new/payment-link", links: "/dashboard/links", links_inactive: "/dashboard/links?state=inactive", link: `/dashboard/links/${link}`, selected: `/dashboard/payments/selected?selected=${made.survivor.id}&selected=${made.euro.id}`, activity: "/dashboard/activity", new_payout: "/dashboard/new/payout",
  products: "/dashboard/products", products_archived: "/dashboard/products?state=archived", product: `/dashboard/products/${made.product.id}`, price: `/dashboard/prices/${made.product.default_price}`,
  disputes: "/dashboard/disputes", disputes_none: "/dashboard/disputes?state=won", dispute: `/dashboard/disputes/${made.dispute.id}`,
  payouts: "/dashboard/payouts", payouts_none: "/dashboard/payouts?state=failed", payout: `/dashboard/payouts/${made.payout.id}`,
  webhooks: "/dashboard/webhooks", webhook: `/dashboard/webhooks/${made.endpoint.id}`, webhook_broken: `/dashboard/webhooks/${made.broken.id}`,
  delivery: `/dashboard/webhooks/${made.endpoint.id}/${event}`, delivery_broken: `/dashboard/webhooks/${made.broken.id}/${told}`, clock: "/dashboard/clock",
  customers: "/dashboard/customers", customer: `/dashboard/customers/${made.customer.id}`,
  balance: "/dashboard/balance", ledger: "/dashboard/ledger", ledger_account: "/dashboard/ledger?account=merchant_balance", posting: `/dashboard/ledger/${posting}`,
  requests: "/dashboard/requests", requests_filtered: "/dashboard/requests?path=/v1/charges&key=order-6027", inspector: `/dashboard/requests/${request}`, request_rejected: `/dashboard/requests/${rejected}`,
  idempotency: "/dashboard/idempotency", idempotency_finished: "/dashboard/idempotency?state=finished",
  idempotency_review: "/dashboard/idempotency?state=needs_review", request_undecided: `/dashboard/requests/${undecided}`,
  events: "/dashboard/events", event: `/dashboard/events/${event}`, event_longest: `/dashboard/events/${longest}`, keys: "/dashboard/keys", processes: "/dashboard/processes",
  search: "/dashboard/search?q=nothing", missing: "/dashboard/no-such-page", nowhere: "/no-such-page",
  lab: "/lab", lab_matrix: "/lab/matrix", lab_run: "/lab/runs/ratchet/stopped",
  docs: "/docs", chapter: "/docs/tour/02-the-engine", simulated: "/docs/simulated", errors: "/docs/errors", reference: "/docs/api", charges: "/docs/api/charges",
});

// ofLogins are pages that need a user, or that lead elsewhere while there is none: login.test.mjs looks at them.
const ofLogins = ["/dashboard/login", "/dashboard/login/code", "/dashboard/account", "/dashboard/account/totp", "/dashboard/users"];

test("every page that the dashboard has is in the list", () => {
  const pages = Object.values(everyPage()).map((path) => path.replace(/\?.*/, "")), routes = new Set();
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

for (const width of [1280, 360]) {
  test(`every page is in order, light and dark, ${width} pixels wide`, async (t) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, reducedMotion: "reduce" });
    const page = await watched(context, demo.base);
    for (const [name, path] of Object.entries(share(everyPage()))) {
      await t.test(name, async () => {
        page.complaints.length = 0;
        const answer = await page.goto(demo.base + path, { waitUntil: "load" });
        const none = ["missing", "nowhere"].includes(name);
        assert.equal(answer.status(), none ? 404 : 200);
        for (const theme of ["light", "dark"]) {
          await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
          await page.screenshot({ path: `${shots}${name}.${theme}.${width}.png`, fullPage: width === 360 && !["charges", "errors"].includes(name) });
          await accessibleIn(page, theme, width);
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
        const wide = await page.evaluate(() => [...document.querySelectorAll(".dashboard .table-wrap")].filter((it) => it.scrollWidth > it.clientWidth + 1).map((it) => it.getAttribute("aria-label")));
        assert.deepEqual(wide, [], "tables are wider than the page");
        assert.deepEqual(page.complaints.filter((c) => !(none && c.includes("404"))), []);
      });
    }
    await context.close();
  });
}

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
  await demo.post(`/v1/payment_pages/${id}/confirm`, { payment_method: "pm_card_visa", email: "jenny@example.com" });
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

// arrival opens a page whose scripts come when it has been painted: as late as
// they may, so that whatever they move is seen to move. Where there is something
// live, it is told of a payment. What moves then is counted apart, and so is what moves while
// the browser still parses the page: a slow machine paints a table before it has read all rows.
async function arrival(context, path) {
  const page = await context.newPage();
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
  const painted = () => page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  await page.route("**/*.js", (route) => painted().then(() => route.continue()));
  await page.goto(demo.base + path, { waitUntil: "load" });
  await painted();
  const seen = await page.evaluate(() => {
    const [answer] = performance.getEntriesByType("navigation"), bytes = [answer, ...performance.getEntriesByType("resource")].map((e) => e.transferSize);
    return { bytes: bytes.reduce((sum, n) => sum + n), answered: answer.responseStart, painted: performance.getEntriesByName("first-contentful-paint")[0].startTime };
  });
  if (await page.locator(".live").count() > 0) {
    await page.locator('.live[data-state="live"]').waitFor();
    // A payment changes these topics. That of deliveries it changes where an endpoint waits for its event.
    const changes = await page.locator('live-region[topics~="money"], live-region[topics~="requests"]').count() > 0;
    const waits = changes || await page.locator("live-region[topics~=deliveries]").count() > 0;
    const told = waits && page.waitForResponse((answer) => answer.request().headers()["ratchet-live"] === "1", changes ? {} : { timeout: 2000 })
      .catch((err) => { if (changes) throw err; });
    await demo.post("/v1/charges", { amount: 2345, currency: "usd", source: "tok_visa" });
    await told;
  }
  seen.moves = await page.evaluate(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
    return globalThis.moves;
  });
  await page.close();
  return seen;
}

// How soon a page is painted depends on who else uses the machine: it is told, and
// no test fails over it. That no page waits for its scripts is a matter of fact.
for (const width of [1280, 360]) {
  test(`every page is light, is painted before its scripts come, and nothing on it moves by itself, ${width} pixels wide`, async (t) => {
    const context = await browser.newContext({ viewport: { width, height: 900 } });
    const pages = { ...share(everyPage()), ...await buyersPages(context), ...width === 1280 && share(await references()) }, seen = [], wrong = [];
    for (const [name, path] of Object.entries(pages)) {
      const { bytes, moves, ...times } = await arrival(context, path);
      seen.push({ name, late: times.painted - times.answered, ...times });
      if (!(bytes > 5000 && bytes <= 100_000)) wrong.push(`${name} weighs ${bytes} bytes`);
      const kindOf = (it) => it.live ? "with a payment that arrives" : it.parsing ? "while it is parsed" : "as it comes";
      for (const [kind, most] of Object.entries({ "as it comes": 0.02, "while it is parsed": 0.1, "with a payment that arrives": 0.1 })) {
        const moved = moves.filter((it) => kindOf(it) === kind), sum = moved.reduce((sum, it) => sum + it.value, 0);
        const what = `${name} moves by ${sum.toFixed(4)} ${kind}: ${moved.map((it) => it.what)}`;
        if (kind !== "as it comes" && sum > 0) t.diagnostic(what);
        if (!(sum < most)) wrong.push(what);
      }
    }
    for (const [what, of] of Object.entries({ "first painted": "painted", "of these, after the first byte": "late" })) {
      seen.sort((a, b) => a[of] - b[of]);
      const { [of]: most, name } = seen.at(-1);
      t.diagnostic(`${what}: ${Math.round(seen[Math.floor(seen.length / 2)][of])} ms in the median, ${Math.round(most)} ms at most (${name})`);
    }
    assert.deepEqual(wrong, []);
    await context.close();
  });
}

test("every link of the dashboard leads somewhere", async () => {
  const { missing, nowhere, ...pages } = everyPage(), seen = new Set(), todo = ["/docs/api", ...Object.values(pages)];
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
  for (const [name, where] of Object.entries(share(names))) {
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
