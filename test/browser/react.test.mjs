// Stripe's wrapper for React, in a merchant's page at another origin. The page has one script tag of
// ours before its bundle, and nothing else of it knows Ratchet.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { launch } from "./browser.mjs";
import { startDemo } from "./demo.mjs";
import { bankFrame, fillCard, fillPayment, openShop, paymentFrame, visit } from "./merchant.mjs";

const visa = "4242424242424242", declined = "4000000000000002", authenticated = "4000000000003220";

let demo, browser, shop;

before(async () => {
  const bundled = await build({ entryPoints: ["react-shop.jsx"], bundle: true, write: false, jsx: "automatic", format: "iife", define: { "process.env.NODE_ENV": '"production"' } });
  demo = await startDemo();
  browser = await launch();
  shop = await openShop(demo, {
    "": '<script src="BASE/endive/stripe.js"></script><body><main><h1>Pay</h1><div id="root"></div></main><script src="/bundle.js"></script></body>',
    "bundle.js": bundled.outputFiles[0].text,
  });
});
after(async () => {
  await shop?.close();
  await browser?.close();
  await demo?.stop();
});

const intentFor = () => demo.post("/v1/payment_intents", { amount: 1400, currency: "usd", "automatic_payment_methods[enabled]": "true" });
const sessionFor = (uiMode) => demo.post("/v1/checkout/sessions", {
  mode: "payment", ui_mode: uiMode, customer_email: "jenny@example.com", return_url: `${shop.base}/complete?session_id={CHECKOUT_SESSION_ID}`,
  "line_items[0][price_data][currency]": "usd", "line_items[0][price_data][unit_amount]": 2000, "line_items[0][price_data][product_data][name]": "T-shirt", "line_items[0][quantity]": 1,
});
const opened = async (page, { client_secret: secret }) => visit(await browser.newContext({ reducedMotion: "reduce", viewport: { width: 1280, height: 1600 } }), shop, demo, "", { page, secret });
const press = (page) => page.getByRole("button", { name: "Pay now" }).click();
const arrived = (page) => page.waitForURL(/\/return\.html\?payment_intent=pi_\w+&payment_intent_client_secret=pi_\w+&redirect_status=succeeded/, { timeout: 60_000 });
const chargesOf = async (intent) => (await demo.get(`/v1/charges?payment_intent=${intent.id}`)).data.filter((c) => c.paid);

test("elements in React: declined, then paid, with an address and an email", async () => {
  const intent = await intentFor(), page = await opened("payment", intent);
  const address = page.frameLocator('iframe[title="Secure address input frame"]');
  for (const [field, text] of Object.entries({ name: "Jenny Rosen", addressLine1: "123 Main St", locality: "San Francisco", postalCode: "94111" })) await address.locator(`[name="${field}"]`).fill(text);
  await address.locator('[name="administrativeArea"]').selectOption("California");
  await page.frameLocator('iframe[title="Secure email input frame"]').locator('[name="email"]').fill("jenny@example.com");
  assert.ok(await page.getByRole("button", { name: "Pay now" }).isDisabled(), "nothing has been entered");
  await fillPayment(page, declined);
  await press(page);
  await page.getByText("Your card was declined.").waitFor();
  await fillPayment(page, visa);
  await press(page);
  await arrived(page);
  const [charge, ...more] = await chargesOf(intent);
  assert.deepEqual([charge.billing_details.email, charge.shipping?.address.line1, more.length], ["jenny@example.com", "123 Main St", 0]);
  assert.deepEqual(page.complaints.filter((c) => !c.includes("402")), []);
});

test("elements before there is an intent, and the bank's page", async () => {
  const intent = await intentFor(), page = await opened("deferred", intent);
  await paymentFrame(page).locator('[name="number"]').waitFor();
  await press(page);
  await page.locator("[role=status]").getByText("Your card number is incomplete.").waitFor();
  await fillPayment(page, authenticated);
  await press(page);
  await bankFrame(page).locator("#test-source-authorize-3ds").click();
  await arrived(page);
  assert.equal((await chargesOf(intent)).length, 1);
});

test("a card element in React, with the server killed in the middle", async () => {
  const intent = await intentFor(), page = await opened("card", intent);
  await page.route("**/confirm", (route) => route.continue({ headers: { ...route.request().headers(), "acquirer-fault": "slow:4000" } }), { times: 1 });
  await fillCard(page, visa);
  const sent = page.waitForRequest((r) => r.url().endsWith("/confirm"));
  await press(page);
  await sent;
  await demo.kill();
  await page.getByText("Payment succeeded").waitFor({ timeout: 60_000 });
  assert.equal((await chargesOf(intent)).length, 1);
});

test("a checkout session in React, with elements", async () => {
  const session = await sessionFor("elements"), page = await opened("checkout", session);
  await page.getByRole("heading", { name: "$20.00" }).waitFor();
  await fillPayment(page, declined);
  await press(page);
  await page.getByText("Your card was declined.").waitFor();
  await fillPayment(page, visa);
  await press(page);
  await page.waitForURL(`${shop.base}/complete?session_id=${session.id}`, { timeout: 60_000 });
  assert.equal((await demo.get(`/v1/checkout/sessions/${session.id}`)).payment_status, "paid");
});

test("the hosted page, embedded by React", async () => {
  const session = await sessionFor("embedded_page"), page = await opened("embedded", session);
  const frame = page.frameLocator('iframe[name^="embedded-checkout"]');
  for (const [field, text] of Object.entries({ cardNumber: visa, cardExpiry: "12 / 34", cardCvc: "123", billingName: "Jenny Rosen", billingPostalCode: "94107" })) await frame.locator(`#${field}`).fill(text);
  await frame.getByTestId("hosted-payment-submit-button").click();
  await page.waitForURL(`${shop.base}/complete?session_id=${session.id}`, { timeout: 60_000 });
  assert.equal((await demo.get(`/v1/checkout/sessions/${session.id}`)).payment_status, "paid");
  assert.deepEqual(page.complaints, []);
});
