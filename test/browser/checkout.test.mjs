import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, test } from "node:test";
import AxeBuilder from "@axe-core/playwright";
import { launch, watched } from "./browser.mjs";
import { startDemo, until } from "./demo.mjs";

// The published test numbers.
const visa = "4242424242424242", amex = "378282246310005", declined = "4000000000000002", poor = "4000000000009995", wanted = "4000000000003220";
const shots = new URL("screenshots/", import.meta.url).pathname;
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

// A shop that is part of the demo's own address: no browser here reaches another.
const shop = () => `${demo.base}/docs/simulated`;
const session = (more = {}) => demo.post("/v1/checkout/sessions", {
  mode: "payment", success_url: `${shop()}?paid={CHECKOUT_SESSION_ID}`, cancel_url: `${shop()}?cart`, "line_items[0][quantity]": 2,
  "line_items[0][price_data][currency]": "usd", "line_items[0][price_data][unit_amount]": 1500, "line_items[0][price_data][product_data][name]": "Enamel mug", ...more });
const setup = async () => demo.post("/v1/checkout/sessions", { mode: "setup", success_url: `${shop()}?paid={CHECKOUT_SESSION_ID}`, cancel_url: `${shop()}?cart`,
  customer: (await demo.post("/v1/customers", { email: "ada@example.com" })).id });

// chargesOf asks the API, and not the page, how often a card was charged.
async function chargesOf(id) {
  const { payment_intent } = await demo.get(`/v1/checkout/sessions/${id}`);
  if (!payment_intent) return [];
  return (await demo.get(`/v1/charges?payment_intent=${payment_intent}`)).data.filter((c) => c.paid);
}

async function fill(page, number, cvc = "123") {
  await page.fill("#email", "jenny@example.com");
  await page.fill("#cardNumber", number);
  await page.fill("#cardExpiry", "12 / 34");
  await page.fill("#cardCvc", cvc);
  await page.fill("#billingName", "Jenny Rosen");
  await page.fill("#billingPostalCode", "94107");
}
const button = (page) => page.getByTestId("hosted-payment-submit-button");
const press = (page) => button(page).click();
const arrives = (page, id) => page.waitForURL(`${shop()}?paid=${id}`, { timeout: 60_000 });
const bank = (page) => page.frameLocator('iframe[name^="__privateStripeFrame"]').frameLocator("#challengeFrame");

async function visit(made, options = {}) {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  const page = await watched(context, demo.base);
  await page.goto(made.url);
  return page;
}

test("a card pays, and the buyer arrives at the shop", async () => {
  const made = await session();
  assert.ok(made.url.startsWith(`${demo.base}/c/pay/${made.id}#`), made.url);
  const page = await visit(made);
  assert.match(await page.locator(".order").innerText(), /Enamel mug[\s\S]*\$30\.00[\s\S]*2 at \$15\.00/);
  assert.equal(await page.locator(`a[href$="/docs/simulated?cart"]`).count(), 1);
  assert.match(await button(page).innerText(), /^Pay \$30\.00/);
  await page.locator('label[for="enableStripePass"]').click();
  await fill(page, visa);
  await press(page);
  await arrives(page, made.id);
  assert.equal((await chargesOf(made.id)).length, 1);
  assert.deepEqual(page.complaints, []);
  await page.goBack();
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  assert.match(await page.locator(".receipt").innerText(), /\$30\.00[\s\S]*Visa ending in 4242/);
  assert.ok(!(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).includes("4242"), "the card is in the browser's storage");
});
