// Stripe.js, in the pages of a merchant that are at another origin.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import AxeBuilder from "@axe-core/playwright";
import { launch } from "./browser.mjs";
import { startDemo, until } from "./demo.mjs";
import { bankFrame, cardFrame, fillCard, fillPayment, openShop, paymentFrame, visit } from "./merchant.mjs";

const visa = "4242424242424242", declined = "4000000000000002", authenticated = "4000000000003220";

const pages = {
  // as in accept-a-payment/payment-element
  payment: `<script src="BASE/v3/"></script>
    <body><main><h1>Pay</h1><form id="payment-form"><div id="email"></div><div id="payment-element"></div><button id="submit">Pay now</button></form><p id="message"></p></main>
    <script>
      const secret = new URLSearchParams(location.search).get("secret");
      window.stripe = Stripe("pk_test_ratchet_demo", { apiVersion: "2020-08-27" });
      window.seen = [];
      window.elements = stripe.elements({ clientSecret: secret, loader: "auto" });
      const payment = elements.create("payment");
      for (const name of ["ready", "change", "focus", "blur", "escape", "loaderror"]) payment.on(name, (event) => seen.push([name, event]));
      payment.mount("#payment-element");
      elements.create("linkAuthentication").mount("#email");
      document.getElementById("payment-form").addEventListener("submit", async (event) => {
        event.preventDefault();
        const button = document.querySelector("button");
        button.disabled = true;
        const { error } = await stripe.confirmPayment({ elements, confirmParams: { return_url: location.origin + "/return.html" } });
        document.getElementById("message").textContent = error.message;
        window.failure = error;
        button.disabled = false;
      });
    </script></body>`,
  // as in accept-a-payment/custom-payment-flow
  card: `<script src="BASE/v3/"></script>
    <body><main><h1>Card</h1><form id="payment-form"><label for="card-element">Card</label><div id="card-element"></div><button>Pay</button></form><p id="message"></p></main>
    <script>
      const secret = new URLSearchParams(location.search).get("secret");
      window.stripe = Stripe("pk_test_ratchet_demo");
      window.card = stripe.elements().create("card", { style: { base: { color: "rgb(10, 20, 30)", "::placeholder": { color: "rgb(90, 90, 90)" } } } });
      window.seen = [];
      for (const name of ["ready", "change", "focus", "blur", "escape"]) card.on(name, (event) => seen.push([name, event]));
      card.mount("#card-element");
      document.getElementById("payment-form").addEventListener("submit", async (event) => {
        event.preventDefault();
        const { error, paymentIntent } = await stripe.confirmCardPayment(secret, { payment_method: { card, billing_details: { name: "Jenny Rosen" } } });
        document.getElementById("message").textContent = error ? error.message : "Payment " + paymentIntent.status + ": " + paymentIntent.id;
      });
    </script></body>`,
  parts: `<script src="BASE/dahlia/stripe.js"></script>
    <body><main><h1>Card</h1><form><div id="number"></div><div id="expiry"></div><div id="cvc"></div><button>Pay</button></form></main>
    <script>
      window.stripe = Stripe("pk_test_ratchet_demo");
      window.elements = stripe.elements();
      for (const [type, at] of [["cardNumber", "#number"], ["cardExpiry", "#expiry"], ["cardCvc", "#cvc"]]) elements.create(type).mount(at);
    </script></body>`,
};

let demo, browser, shop;

before(async () => {
  demo = await startDemo();
  browser = await launch();
  shop = await openShop(demo, pages);
});
after(async () => {
  await shop?.close();
  await browser?.close();
  await demo?.stop();
});

const intentFor = (more = { "automatic_payment_methods[enabled]": "true" }) => demo.post("/v1/payment_intents", { amount: 1400, currency: "usd", ...more });
const chargesOf = async (intent) => (await demo.get(`/v1/charges?payment_intent=${intent.id}`)).data.filter((c) => c.paid);
const opened = async (path, query) => visit(await browser.newContext({ reducedMotion: "reduce" }), shop, demo, path, query);

async function paying(intent) {
  const page = await opened("payment", { secret: intent.client_secret });
  await paymentFrame(page).locator('[name="number"]').waitFor();
  return page;
}

const arrived = (page, status) => page.waitForURL(new RegExp(`/return\\.html\\?payment_intent=pi_\\w+&payment_intent_client_secret=pi_\\w+&redirect_status=${status}`), { timeout: 60_000 });

test("the Payment Element pays, and the merchant's page never contains the card", async () => {
  const intent = await intentFor(), page = await paying(intent);
  await fillPayment(page, visa);
  await page.frameLocator('iframe[title="Secure email input frame"]').locator('[name="email"]').fill("jenny@example.com");
  const markup = await page.content();
  assert.ok(!/4242/.test(markup.replaceAll(intent.id, "")), "the number is in the merchant's page");
  await page.getByRole("button", { name: "Pay now" }).click();
  await arrived(page, "succeeded");
  const [charge, ...more] = await chargesOf(intent);
  assert.deepEqual(more, []);
  assert.deepEqual([charge.amount, charge.billing_details.email, charge.billing_details.address.postal_code], [1400, "jenny@example.com", "10000"]);
  assert.deepEqual(page.complaints, []);
  assert.ok(shop.served.every((url) => !url.includes("4242")));
});

test("a declined card is an error with its code, and the next card pays", async () => {
  const intent = await intentFor(), page = await paying(intent);
  await fillPayment(page, declined);
  await page.getByRole("button", { name: "Pay now" }).click();
  await page.getByText("Your card was declined.").waitFor();
  const failure = await page.evaluate(() => window.failure);
  assert.deepEqual([failure.type, failure.code, failure.decline_code, failure.payment_intent.status], ["card_error", "card_declined", "generic_decline", "requires_payment_method"]);
  await fillPayment(page, visa);
  await page.getByRole("button", { name: "Pay now" }).click();
  await arrived(page, "succeeded");
  assert.equal((await chargesOf(intent)).length, 1);
});

test("3-D Secure opens over the page; failing it is an error, passing it pays once", async () => {
  const intent = await intentFor(), page = await paying(intent);
  await fillPayment(page, authenticated);
  await page.getByRole("button", { name: "Pay now" }).click();
  await bankFrame(page).locator("#test-source-fail-3ds").click();
  await page.getByText(/failed authentication/).waitFor();
  assert.equal(await page.locator('iframe[src*="three-ds-2-challenge"]').count(), 0);
  assert.equal((await page.evaluate(() => window.failure)).code, "payment_intent_authentication_failure");
  await page.getByRole("button", { name: "Pay now" }).click();
  await bankFrame(page).locator("#test-source-authorize-3ds").click();
  await arrived(page, "succeeded");
  assert.equal((await chargesOf(intent)).length, 1);
  assert.deepEqual(page.complaints, []);
});

test("the server is killed while the card is charged: the page waits, and the card is charged once", async () => {
  const intent = await intentFor(), page = await paying(intent);
  await fillPayment(page, visa);
  await page.route("**/confirm", (route) => route.continue({ headers: { ...route.request().headers(), "acquirer-trouble": "slow:4000" } }), { times: 1 });
  const sent = page.waitForRequest("**/confirm");
  await page.getByRole("button", { name: "Pay now" }).click();
  await sent;
  await until(async () => (await demo.get(`/v1/payment_intents/${intent.id}`)).status === "processing");
  await demo.kill();
  await arrived(page, "succeeded");
  assert.equal((await chargesOf(intent)).length, 1);
});

test("a card element pays, has the merchant's style, and reports what is typed", async () => {
  const intent = await intentFor({ "payment_method_types[]": "card" });
  const page = await opened("card", { secret: intent.client_secret });
  await cardFrame(page).locator('[name="cardnumber"]').waitFor();
  await page.locator('label[for="card-element"]').click();
  await until(() => page.locator(".StripeElement--focus").count());
  await fillCard(page, visa);
  assert.equal(await cardFrame(page).locator('[name="cardnumber"]').evaluate((e) => getComputedStyle(e).color), "rgb(10, 20, 30)");
  await until(() => page.locator("#card-element.StripeElement--complete").count());
  await page.getByRole("button", { name: "Pay" }).click();
  await page.getByText(`Payment succeeded: ${intent.id}`).waitFor();
  const last = await page.evaluate(() => seen.filter(([name]) => name === "change").at(-1)[1]);
  assert.deepEqual([last.elementType, last.complete, last.empty, last.brand, last.value, last.error], ["card", true, false, "visa", { postalCode: "10000" }, undefined]);
  assert.deepEqual(page.complaints, []);
});

test("split fields go on to each other, and pay together", async () => {
  const intent = await intentFor({ "payment_method_types[]": "card" });
  const page = await opened("parts");
  const part = (title) => page.frameLocator(`iframe[title="${title}"]`).locator("input");
  await part("Secure card number input frame").click();
  await page.keyboard.type("378282246310005", { delay: 5 });
  await until(() => part("Secure expiration date input frame").evaluate((e) => document.hasFocus() && document.activeElement === e));
  await page.keyboard.type("1234", { delay: 5 });
  await until(() => part("Secure CVC input frame").evaluate((e) => document.hasFocus() && document.activeElement === e));
  await page.keyboard.type("123");
  const short = await page.evaluate((secret) => stripe.confirmCardPayment(secret, { payment_method: { card: elements.getElement("cardNumber") } }), intent.client_secret);
  assert.equal(short.error.code, "incomplete_cvc", "an American Express card has four digits there");
  await part("Secure CVC input frame").fill("1234");
  const { paymentIntent } = await page.evaluate((secret) => stripe.confirmCardPayment(secret, { payment_method: { card: elements.getElement("cardNumber") } }), intent.client_secret);
  assert.equal(paymentIntent.status, "succeeded");
  assert.equal((await chargesOf(intent))[0].payment_method_details.card.brand, "amex");
});

test("the first wrong field gets the focus and keeps it, however the button is pressed", async () => {
  const page = await paying(await intentFor());
  const focused = (name) => paymentFrame(page).locator(`[name="${name}"]`).evaluate((e) => document.hasFocus() && document.activeElement === e);
  const button = page.getByRole("button", { name: "Pay now" });
  for (let round = 0; round < 15; round++) {
    const wrong = ["number", "expiry", "cvc"][round % 3];
    await fillPayment(page, visa);
    await paymentFrame(page).locator(`[name="${wrong}"]`).fill("");
    if (round % 2) await button.click();
    else { await button.focus(); await page.keyboard.press("Enter"); }
    await until(() => focused(wrong));
    await page.evaluate(() => document.querySelector("button").focus()); // a browser that is late
    await until(() => focused(wrong));
  }
  await page.keyboard.press("Tab");
  await until(async () => !(await focused("cvc")));
});

test("elements, their frames and the bank's page are accessible", async () => {
  const page = await paying(await intentFor());
  await page.getByRole("button", { name: "Pay now" }).click();
  await page.getByText("Your card number is incomplete.").waitFor();
  const check = async () => {
    const { violations } = await new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).analyze();
    assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html + n.failureSummary)}`), []);
  };
  await check();
  await fillPayment(page, authenticated);
  await page.getByRole("button", { name: "Pay now" }).click();
  await bankFrame(page).locator("#test-source-authorize-3ds").waitFor();
  await check();
  await page.frameLocator('iframe[src*="three-ds-2-challenge"]').locator(".close").press("Enter");
  await page.getByText(/failed authentication/).waitFor();
});
