// Stripe.js, in the pages of a merchant that are at another origin.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessible, launch, loaded } from "./browser.mjs";
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

// as in accept-a-payment/elements-with-checkout-sessions
pages.checkout = `<script src="BASE/dahlia/stripe.js"></script>
  <body><main><h1>Checkout</h1><form id="payment-form"><div id="address"></div><div id="payment"></div><div id="currency"></div><button id="submit" disabled>Pay</button></form><p id="message"></p></main>
  <script>
    window.stripe = Stripe("pk_test_ratchet_demo");
    (async () => {
      const clientSecret = Promise.resolve(new URLSearchParams(location.search).get("secret"));
      window.checkout = stripe.initCheckoutElementsSdk({ clientSecret, elementsOptions: { appearance: { variables: { colorPrimary: "rgb(200, 0, 0)" } } }, adaptivePricing: { allowed: true } });
      checkout.on("change", (session) => { document.getElementById("submit").disabled = !session.canConfirm; });
      const loaded = await checkout.loadActions();
      window.actions = loaded.actions;
      document.getElementById("submit").textContent = "Pay " + actions.getSession().total.total.amount;
      checkout.createBillingAddressElement().mount("#address");
      checkout.createPaymentElement().mount("#payment");
      checkout.createCurrencySelectorElement().mount("#currency");
      document.getElementById("payment-form").addEventListener("submit", async (event) => {
        event.preventDefault();
        const result = await actions.confirm();
        if (result.type === "error") document.getElementById("message").textContent = result.error.message;
      });
    })();
  </script></body>`;

pages.embedded = `<script src="BASE/dahlia/stripe.js"></script>
  <body><main><h1>Embedded</h1><div id="checkout"></div></main>
  <script>
    stripe = Stripe("pk_test_ratchet_demo");
    stripe.createEmbeddedCheckoutPage({ fetchClientSecret: async () => new URLSearchParams(location.search).get("secret") }).then((page) => page.mount("#checkout"));
  </script></body>`;

for (const train of ["v3", "basil", "clover", "dahlia", "endive"]) {
  pages[train] = `<script src="BASE/${train === "v3" ? "v3/" : `${train}/stripe.js`}"></script><body><div id="card"></div><script>stripe = Stripe("pk_test_ratchet_demo"); stripe.elements().create("card").mount("#card");</script></body>`;
}

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
// Everything fits without scrolling: a click that follows a scroll at once lands where another process's frame was before.
const opened = async (path, query) => visit(await browser.newContext({ reducedMotion: "reduce", viewport: { width: 1280, height: 1400 } }), shop, demo, path, query);

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
  await page.route("**/confirm", (route) => route.continue({ headers: { ...route.request().headers(), "acquirer-fault": "slow:4000" } }), { times: 1 });
  const sent = page.waitForRequest("**/confirm");
  await page.getByRole("button", { name: "Pay now" }).click();
  await sent;
  await until(async () => (await demo.get(`/v1/payment_intents/${intent.id}`)).status === "processing");
  await demo.kill();
  await arrived(page, "succeeded");
  assert.equal((await chargesOf(intent)).length, 1);
});

test("the server is killed while the bank's answer is sent: one press is enough, and it is charged once", async () => {
  for (const late of [0, 5, 15, 30]) {
    const intent = await intentFor(), page = await paying(intent);
    await fillPayment(page, authenticated);
    await page.getByRole("button", { name: "Pay now" }).click();
    const sent = page.waitForRequest((r) => r.url().includes("/3d_secure/") && r.method() === "POST");
    await loaded(bankFrame(page));
    await bankFrame(page).locator("#test-source-authorize-3ds").click({ noWaitAfter: true });
    await sent;
    await new Promise((resolve) => setTimeout(resolve, late));
    await demo.kill();
    await arrived(page, "succeeded");
    assert.equal((await chargesOf(intent)).length, 1);
    await page.context().close();
  }
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
  const focused = (title) => part(title).evaluate((e) => document.hasFocus() && document.activeElement === e);
  await part("Secure card number input frame").click();
  await until(() => focused("Secure card number input frame")); // keys go to the page until its frame has the focus
  await page.keyboard.type("378282246310005", { delay: 5 });
  await until(() => focused("Secure expiration date input frame"));
  await page.keyboard.type("1234", { delay: 5 });
  await until(() => focused("Secure CVC input frame"));
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
  await accessible(page);
  await fillPayment(page, authenticated);
  await page.getByRole("button", { name: "Pay now" }).evaluate((button) => button.click()); // it moves while the errors above it go away
  await bankFrame(page).locator("#test-source-authorize-3ds").waitFor();
  await accessible(page);
  await page.frameLocator('iframe[src*="three-ds-2-challenge"]').locator(".close").press("Enter");
  await page.getByText(/failed authentication/).waitFor();
});

const sessionFor = (more) => demo.post("/v1/checkout/sessions", {
  mode: "payment", "line_items[0][price_data][currency]": "usd", "line_items[0][price_data][unit_amount]": 2000, "line_items[0][price_data][product_data][name]": "T-shirt", "line_items[0][quantity]": 1,
  return_url: `${shop.base}/complete?session_id={CHECKOUT_SESSION_ID}`, ...more,
});

async function fillAddress(page) {
  const frame = page.frameLocator('iframe[title="Secure address input frame"]');
  await frame.locator('[name="name"]').fill("Jenny Rosen");
  await frame.locator('[name="country"]').selectOption("US");
  await frame.locator('[name="addressLine1"]').fill("123 Main St");
  await frame.locator('[name="locality"]').fill("San Francisco");
  await frame.locator('[name="administrativeArea"]').selectOption("California");
  await frame.locator('[name="postalCode"]').fill("94111");
}

async function fillNumber(page, number) {
  const frame = paymentFrame(page);
  await frame.locator('[data-value="card"]').click();
  await frame.locator('[name="number"]').fill(number);
  await frame.locator('[name="expiry"]').fill("12 / 33");
  await frame.locator('[name="cvc"]').fill("123");
}

test("a checkout session is paid with elements, after a decline and the bank, with its server killed", async () => {
  const session = await sessionFor({ ui_mode: "elements", customer_email: "jenny@example.com", "adaptive_pricing[enabled]": "true" });
  assert.deepEqual([session.ui_mode, session.url, session.success_url], ["elements", null, null]);
  const page = await opened("checkout", { secret: session.client_secret });
  const button = page.locator("#submit");
  await page.getByText("Pay $20.00").waitFor();
  await page.frameLocator('iframe[title="Secure currency selector"]').getByText("USD").waitFor();
  assert.ok(await button.isDisabled());
  await fillAddress(page);
  await fillNumber(page, declined);
  await button.click();
  await page.getByText("Your card was declined.").waitFor();
  await fillNumber(page, authenticated);
  await button.click();
  await bankFrame(page).locator("#test-source-authorize-3ds").waitFor();
  await loaded(bankFrame(page));
  await demo.kill();
  await bankFrame(page).locator("#test-source-authorize-3ds").click();
  await page.waitForURL(`${shop.base}/complete?session_id=${session.id}`, { timeout: 60_000 });
  const paid = await demo.get(`/v1/checkout/sessions/${session.id}?expand[]=payment_intent`);
  assert.deepEqual([paid.status, paid.payment_status, paid.client_secret, paid.customer_details.address.line1, paid.customer_details.name], ["complete", "paid", null, "123 Main St", "Jenny Rosen"]);
  assert.equal((await chargesOf(paid.payment_intent)).length, 1);
});

test("a promotion code is applied and removed with Stripe.js, and the customer pays what the page said", async () => {
  const coupon = await demo.post("/v1/coupons", { percent_off: 25, duration: "once", name: "Autumn" });
  const code = await demo.post("/v1/promotion_codes", { "promotion[type]": "coupon", "promotion[coupon]": coupon.id, code: "AUTUMN25" });
  const rate = (name, amount) => demo.post("/v1/shipping_rates", { display_name: name, type: "fixed_amount", "fixed_amount[amount]": amount, "fixed_amount[currency]": "usd" });
  const [slow, fast] = [await rate("Slow", 500), await rate("Fast", 900)];
  const session = await sessionFor({ ui_mode: "elements", customer_email: "jenny@example.com", allow_promotion_codes: "true", "shipping_options[0][shipping_rate]": slow.id, "shipping_options[1][shipping_rate]": fast.id });
  const page = await opened("checkout", { secret: session.client_secret });
  await page.getByText("Pay $25.00").waitFor();
  const told = (result) => [result.type, result.error?.code, ...(result.session ? [result.session.total.total.minorUnitsAmount, result.session.total.discount.minorUnitsAmount, result.session.discountAmounts.map((d) => d.promotionCode)] : [])];
  const act = async (action, ...args) => told(await page.evaluate(([name, given]) => actions[name](...given), [action, args]));
  assert.deepEqual(await act("updateShippingOption", fast.id), ["success", undefined, 2900, 0, []]);
  for (const wrong of ["SPRING", " ", "4242 4242 4242 4242"]) assert.deepEqual(await act("applyPromotionCode", wrong), ["error", "invalidCode"], wrong);
  assert.deepEqual(await act("applyPromotionCode", "autumn25"), ["success", undefined, 2400, 500, ["AUTUMN25"]]);
  assert.deepEqual(await act("removePromotionCode"), ["success", undefined, 2900, 0, []]);
  assert.deepEqual(await act("applyPromotionCode", code.code), ["success", undefined, 2400, 500, ["AUTUMN25"]]);
  assert.deepEqual(await page.evaluate(() => actions.getSession().lineItems.map((item) => item.total.minorUnitsAmount)), [1500]);
  await fillAddress(page);
  await fillNumber(page, "4242424242424242");
  await page.locator("#submit").click();
  await page.waitForURL(`${shop.base}/complete?session_id=${session.id}`, { timeout: 60_000 });
  const paid = await demo.get(`/v1/checkout/sessions/${session.id}?expand[]=payment_intent`);
  assert.deepEqual([paid.payment_status, paid.amount_total, paid.total_details.amount_discount, paid.discounts[0].promotion_code], ["paid", 2400, 500, code.id]);
  assert.deepEqual((await chargesOf(paid.payment_intent)).map((charge) => charge.amount_captured), [2400]);
  assert.equal((await demo.get(`/v1/promotion_codes/${code.id}`)).times_redeemed, 1);
});

test("a quantity is changed with Stripe.js, and the customer pays what the page said", async () => {
  const session = await sessionFor({
    ui_mode: "elements", customer_email: "jenny@example.com",
    "line_items[0][adjustable_quantity][enabled]": "true", "line_items[0][adjustable_quantity][minimum]": 1, "line_items[0][adjustable_quantity][maximum]": 5,
  });
  const page = await opened("checkout", { secret: session.client_secret });
  await page.getByText("Pay $20.00").waitFor();
  await page.evaluate(() => { window.told = []; checkout.on("change", (session) => told.push(session.total.total.amount)); });
  const [item] = await page.evaluate(() => actions.getSession().lineItems);
  assert.deepEqual(item.adjustableQuantity, { minimum: 1, maximum: 5 });
  const change = (lineItem, quantity) => page.evaluate((given) => actions.updateLineItemQuantity(given), { lineItem, quantity });
  const changed = await change(item.id, 3);
  assert.deepEqual([changed.type, changed.session.total.total.minorUnitsAmount, changed.session.lineItems[0].quantity, changed.session.lineItems[0].subtotal.amount], ["success", 6000, 3, "$60.00"]);
  assert.deepEqual(await page.evaluate(() => told), ["$60.00"]);
  assert.deepEqual(await change(item.id, 6), { type: "error", error: { code: null, message: `The quantity of the line item ${item.id} must be between 1 and 5.` } });
  assert.equal((await change("li_none", 2)).error.message, "No such line item: 'li_none'");
  assert.equal(await page.evaluate(() => actions.getSession().total.total.amount), "$60.00");
  await fillAddress(page);
  await fillNumber(page, "4242424242424242");
  await page.locator("#submit").click();
  await page.waitForURL(`${shop.base}/complete?session_id=${session.id}`, { timeout: 60_000 });
  const paid = await demo.get(`/v1/checkout/sessions/${session.id}?expand[]=payment_intent&expand[]=line_items`);
  assert.deepEqual([paid.payment_status, paid.amount_total, paid.line_items.data[0].quantity], ["paid", 6000, 3]);
  assert.deepEqual((await chargesOf(paid.payment_intent)).map((charge) => charge.amount_captured), [6000]);
});

test("a session that takes no promotion codes says so to Stripe.js", async () => {
  const session = await sessionFor({ ui_mode: "elements", customer_email: "jenny@example.com" });
  const page = await opened("checkout", { secret: session.client_secret });
  await page.getByText("Pay $20.00").waitFor();
  const refused = await page.evaluate(() => actions.applyPromotionCode("AUTUMN25"));
  assert.deepEqual(refused, { type: "error", error: { code: null, message: "This Checkout Session does not accept promotion codes." } });
});

test("the hosted page is embedded, and tells the page around it when it is paid", async () => {
  const session = await sessionFor({ ui_mode: "embedded_page" });
  const page = await opened("embedded", { secret: session.client_secret });
  const frame = page.frameLocator('iframe[name^="embedded-checkout"]');
  await frame.locator("#email").fill("jenny@example.com");
  await frame.locator("#cardNumber").fill(authenticated);
  await frame.locator("#cardExpiry").fill("12 / 34");
  await frame.locator("#cardCvc").fill("123");
  await frame.locator("#billingName").fill("Jenny Rosen");
  await frame.locator("#billingPostalCode").fill("94107");
  await frame.getByTestId("hosted-payment-submit-button").click();
  await frame.frameLocator('iframe[name^="__privateStripeFrame"]').frameLocator("#challengeFrame").locator("#test-source-authorize-3ds").click();
  await page.waitForURL(`${shop.base}/complete?session_id=${session.id}`, { timeout: 60_000 });
  assert.equal((await demo.get(`/v1/checkout/sessions/${session.id}`)).payment_status, "paid");
  assert.deepEqual(page.complaints, []);
});

test("a page of another site can frame an embedded session, and no hosted one", async () => {
  const hosted = await demo.post("/v1/checkout/sessions", { mode: "payment", success_url: shop.base, "line_items[0][price_data][currency]": "usd", "line_items[0][price_data][unit_amount]": 2000, "line_items[0][price_data][product_data][name]": "T-shirt", "line_items[0][quantity]": 1 });
  const embedded = await sessionFor({ ui_mode: "embedded_page" });
  const ancestors = async (session) => (await fetch(`${demo.base}/c/pay/${session.id}`)).headers.get("content-security-policy").match(/frame-ancestors ([^;]*)/)[1];
  assert.deepEqual([await ancestors(hosted), await ancestors(embedded)], ["'none'", "*"]);
});

test("what is entered becomes a confirmation token, with which the merchant's server confirms, once", async () => {
  const intent = await intentFor(), page = await paying(intent);
  await page.evaluate(() => stripe.createConfirmationToken({ elements })).then(({ error }) => assert.equal(error.type, "validation_error"));
  await fillPayment(page, authenticated);
  const { confirmationToken: token } = await page.evaluate(() => stripe.createConfirmationToken({ elements, params: { return_url: location.origin + "/return.html", payment_method_data: { billing_details: { name: "Jenny" } } } }));
  assert.deepEqual([token.payment_method_preview.card.last4, token.payment_method_preview.billing_details.name], ["3220", "Jenny"]);
  const waiting = await demo.post(`/v1/payment_intents/${intent.id}/confirm`, { confirmation_token: token.id });
  assert.equal(waiting.status, "requires_action");
  const acted = page.evaluate((clientSecret) => stripe.handleNextAction({ clientSecret }), intent.client_secret);
  await bankFrame(page).locator("#test-source-authorize-3ds").click();
  assert.equal((await acted).paymentIntent.status, "succeeded");
  assert.equal((await chargesOf(intent)).length, 1);
  const again = await demo.post(`/v1/payment_intents/${(await intentFor()).id}/confirm`, { confirmation_token: token.id });
  assert.match(again.error.message, /has already been used/);
  assert.deepEqual(page.complaints, []);
});

test("setup, tokens, payment methods, next actions and redirects, by the calls of a page", async () => {
  const page = await opened("v3");
  const setup = await demo.post("/v1/setup_intents", { "payment_method_types[]": "card" });
  const made = await page.evaluate(async (secret) => {
    const elements = stripe.elements(), card = elements.create("card");
    card.mount("#card");
    window.elements = elements;
    window.card = card;
    await new Promise((resolve) => card.once("ready", resolve));
    return secret;
  }, setup.client_secret);
  await fillCard(page, visa);
  const end = await page.evaluate(async (secret) => ({
    token: await stripe.createToken(card, { name: "Jenny" }),
    method: await stripe.createPaymentMethod({ type: "card", card, billing_details: { name: "Jenny" } }),
    setup: await stripe.confirmCardSetup(secret, { payment_method: { card } }),
    setupAfter: await stripe.retrieveSetupIntent(secret),
  }), made);
  assert.deepEqual([end.token.token.card.last4, end.token.token.card.name, end.token.token.card.address_zip], ["4242", "Jenny", "10000"]);
  assert.deepEqual([end.method.paymentMethod.card.last4, end.method.paymentMethod.billing_details.name], ["4242", "Jenny"]);
  assert.deepEqual([end.setup.setupIntent.status, end.setupAfter.setupIntent.status], ["succeeded", "succeeded"]);

  const waiting = await intentFor({ "payment_method_types[]": "card", confirm: "true", payment_method: "pm_card_authenticationRequired" });
  const acted = page.evaluate((clientSecret) => stripe.handleNextAction({ clientSecret }), waiting.client_secret);
  await bankFrame(page).locator("#test-source-authorize-3ds").click();
  assert.equal((await acted).paymentIntent.status, "succeeded");

  const manual = await intentFor({ "payment_method_types[]": "card", confirmation_method: "manual", confirm: "true", payment_method: "pm_card_authenticationRequired" });
  const carded = page.evaluate((secret) => stripe.handleCardAction(secret), manual.client_secret);
  await bankFrame(page).locator("#test-source-authorize-3ds").click();
  assert.equal((await carded).paymentIntent.status, "requires_confirmation");

  const session = await demo.post("/v1/checkout/sessions", { mode: "payment", success_url: shop.base, "line_items[0][price_data][currency]": "usd", "line_items[0][price_data][unit_amount]": 2000, "line_items[0][price_data][product_data][name]": "T-shirt", "line_items[0][quantity]": 1 });
  await page.evaluate((sessionId) => { stripe.redirectToCheckout({ sessionId }); }, session.id);
  await page.waitForURL(`${demo.base}/c/pay/${session.id}*`);
});

test("each release has the names of its time, and what is not here answers", async () => {
  for (const [train, version, lacks] of [["v3", 3, "initCheckoutElementsSdk"], ["clover", "clover", "redirectToCheckout"], ["dahlia", "dahlia", "initCheckout"], ["endive", "endive", "initEmbeddedCheckout"]]) {
    const page = await opened(train);
    const told = await page.evaluate(async (name) => ({
      version: Stripe.version,
      lacks: await (async () => stripe[name]({}))().then(() => "", (e) => `${e.name}: ${e.message}`),
      ideal: await stripe.confirmIdealPayment("x"), wallet: await stripe.paymentRequest({}).canMakePayment(),
      duck: ["elements", "createToken", "createPaymentMethod", "confirmCardPayment"].every((n) => typeof stripe[n] === "function"), thenable: typeof stripe.then,
      secret: (() => { try { return Stripe("sk_test_x"); } catch (e) { return e.name; } })(),
    }), lacks);
    assert.equal(told.version, version);
    assert.match(told.lacks, new RegExp(`IntegrationError: stripe\\.${lacks}`));
    assert.deepEqual([told.ideal.error.code, told.wallet, told.duck, told.thenable, told.secret], ["payment_method_unavailable", null, true, "undefined", "IntegrationError"]);
    await page.context().close();
  }
});

test("elements are updated, unmounted, destroyed and made anew", async () => {
  const page = await paying(await intentFor());
  await paymentFrame(page).locator('[name="number"]').press("Escape");
  await until(() => page.evaluate(() => seen.some(([name]) => name === "escape")));
  await page.evaluate(() => elements.update({ locale: "de", appearance: { theme: "night", variables: { colorText: "rgb(1, 2, 3)", colorDanger: "url(https://evil.example)" } } }));
  await paymentFrame(page).getByText("Kartennummer").waitFor();
  const html = paymentFrame(page).locator("html");
  assert.equal(await html.evaluate((e) => getComputedStyle(e).getPropertyValue("--colorText")), "rgb(1, 2, 3)");
  assert.doesNotMatch(await html.evaluate((e) => getComputedStyle(e).getPropertyValue("--colorDanger")), /evil/);
  const rest = await page.evaluate(() => {
    const payment = elements.getElement("payment");
    payment.unmount();
    const left = document.querySelectorAll("#payment-element iframe").length;
    payment.mount("#payment-element");
    payment.destroy();
    let problem;
    try { payment.mount("#payment-element"); } catch (e) { problem = e.message; }
    elements.create("payment").mount("#payment-element");
    return { left, problem, now: document.querySelectorAll("#payment-element iframe").length };
  });
  assert.deepEqual([rest.left, rest.now], [0, 1]);
  assert.match(rest.problem, /already been destroyed/);
  await paymentFrame(page).locator('[name="number"]').waitFor();
  assert.deepEqual(page.complaints, []);
});

test("a frame takes orders from the page around it only, with its nonce", async () => {
  const page = await paying(await intentFor());
  const answered = await page.evaluate((base) => new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.src = `${base}/v3/elements-inner-card.html#right`;
    addEventListener("message", (event) => {
      if (event.source !== frame.contentWindow) return;
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve("connected");
      frame.contentWindow.postMessage({ ratchet: "connect", nonce: "wrong", options: { key: "pk_test_x", options: {} } }, base, [port2]);
      setTimeout(() => resolve("silent"), 1500);
    });
    document.body.append(frame);
  }), demo.base);
  assert.equal(answered, "silent");
});
