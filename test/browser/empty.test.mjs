// What a new installation shows before anything has happened, and what its first failures look like.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { accessible, launch, watched } from "./browser.mjs";
import { startDemo } from "./demo.mjs";

let demo, browser;

before(async () => {
  demo = await startDemo();
  browser = await launch();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

const open = async (path) => {
  const page = await watched(await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" }), demo.base);
  await page.goto(demo.base + path);
  return page;
};

test("a page that is empty says what belongs there, and its buttons open the form that creates it", async () => {
  const forms = new Set();
  for (const path of ["payments", "customers", "products", "links", "checkout", "disputes", "payouts", "balance", "events", "emails"].map((name) => `/dashboard/${name}`)
    .concat("/shop/cart")) {
    const page = await open(path), empty = page.locator("main .empty");
    assert.match(await empty.locator("h2").innerText(), /\S/, path);
    assert.match(await empty.locator("p").first().innerText(), /\.$/, path);
    const buttons = await empty.locator("a.button, button").evaluateAll((all) => all.map((b) => ({ text: b.textContent.trim(), href: b.getAttribute("href") })));
    assert.ok(buttons.length > 0, `${path} has no way on`);
    for (const { text, href } of buttons) {
      assert.ok(!href?.startsWith("/docs"), `${path}: ${text} opens the documentation`);
      if (/^New /.test(text)) forms.add(href);
    }
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  }
  assert.ok(forms.size >= 5, [...forms].join("\n"));
  for (const href of forms) {
    const page = await open(href);
    assert.ok(await page.locator(`main form[method=post][action^="/dashboard/new"] button`).last().isVisible(), href);
    await page.context().close();
  }
});

test("a declined request is not marked as succeeded, and its duration is a time", async () => {
  const declined = await demo.post("/v1/charges", { amount: 2000, currency: "usd", source: "tok_chargeDeclined" });
  assert.equal(declined.error.code, "card_declined");
  const page = await open("/dashboard/requests"), row = page.locator("main tbody tr").first();
  await row.getByText("402").waitFor();
  assert.match(await row.locator("td.states").innerText(), /Failed/);
  assert.equal(await row.locator(".badge.good").count(), 0);
  assert.match(await row.locator('[data-label="Duration"]').innerText(), /^<?\s?[\d.,]+ (ms|s)$/);
  await accessible(page);
  assert.deepEqual(page.complaints, []);
});

test("a test card says what it does, and has a quiet button of its own beside it", async () => {
  const session = await demo.post("/v1/checkout/sessions", {
    mode: "payment", success_url: "https://shop.example.com/", "line_items[0][quantity]": 1,
    "line_items[0][price_data][currency]": "usd", "line_items[0][price_data][unit_amount]": 2000, "line_items[0][price_data][product_data][name]": "Mug",
  });
  const page = await open(new URL(session.url).pathname);
  await page.getByText("Test cards", { exact: true }).click();
  const cards = await page.locator(".drawer li").evaluateAll((all) => all.map((li) => {
    const button = li.querySelector("button"), style = getComputedStyle(button);
    return { does: li.querySelector("span").textContent.trim(), named: button.getAttribute("aria-label"), height: button.getBoundingClientRect().height,
      background: style.backgroundColor, row: li.getBoundingClientRect().height };
  }));
  assert.ok(cards.length > 5, JSON.stringify(cards));
  assert.equal(new Set(cards.map((c) => c.named)).size, cards.length, "two buttons have one name");
  for (const card of cards) {
    assert.ok(!/^(Succeed|Ask|Decline|Fail)\b/.test(card.does), `“${card.does}” has no subject`);
    assert.ok(card.height === 44 && card.row < 60, JSON.stringify(card)); // what a finger hits, and no more
    assert.equal(card.background, "rgba(0, 0, 0, 0)", card.named);
  }
  await accessible(page);
  assert.deepEqual(page.complaints, []);
});
