import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { accessible, accessibleIn, launch, loaded, share, watched } from "./browser.mjs";
import { amex, bank, breaks, button, buying, declined, fill, poor, press, visa, wanted } from "./buyer.mjs";
import { startDemo, until } from "./demo.mjs";

const shots = new URL("screenshots/", import.meta.url).pathname;
let demo, browser, buyer, session, setup, arrives, visit, stateOf;
const chargesOf = (id) => buyer.chargesOf(id);

before(async () => {
  demo = await startDemo();
  browser = await launch();
  buyer = buying(demo, browser);
  ({ session, setup, arrives, visit, stateOf } = buyer);
  mkdirSync(shots, { recursive: true });
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

test("a card pays, and the buyer arrives at the shop", async () => {
  const made = await session();
  assert.ok(made.url.startsWith(`${demo.base}/c/pay/${made.id}#`), made.url);
  const page = await visit(made);
  assert.match(await page.locator(".order").innerText(), /Enamel mug[\s\S]*\$30\.00[\s\S]*2 × \$15\.00/);
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

// discounted makes a session with a quarter off and two ways to ship.
async function discounted() {
  const coupon = await demo.post("/v1/coupons", { percent_off: 25, name: "Spring sale" });
  const option = (i, name, amount) => ({
    [`shipping_options[${i}][shipping_rate_data][display_name]`]: name,
    [`shipping_options[${i}][shipping_rate_data][fixed_amount][amount]`]: amount,
    [`shipping_options[${i}][shipping_rate_data][fixed_amount][currency]`]: "usd",
    [`shipping_options[${i}][shipping_rate_data][delivery_estimate][maximum][unit]`]: "business_day",
    [`shipping_options[${i}][shipping_rate_data][delivery_estimate][maximum][value]`]: 5,
  });
  const made = await session({ "discounts[0][coupon]": coupon.id, ...option(0, "Standard", 500), ...option(1, "Express", 1500) });
  return { made, coupon };
}

test("a discounted order is shipped as the buyer chooses, and the receipt has the total", async () => {
  const { made, coupon } = await discounted();
  const page = await visit(made);
  const order = page.locator(".order");
  assert.match(await order.innerText(), /\$27\.50[\s\S]*Enamel mug\s+\$30\.00[\s\S]*Spring sale\s+-\$7\.50[\s\S]*Standard\s+\$5\.00[\s\S]*Total\s+\$27\.50/);
  await fill(page, declined);
  await page.getByRole("radio", { name: "Express" }).check();
  assert.match(await order.innerText(), /\$37\.50[\s\S]*Express\s+\$15\.00[\s\S]*Total\s+\$37\.50/);
  assert.match(await button(page).innerText(), /^Pay \$37\.50/);
  await accessible(page);
  await press(page);
  await page.locator("#verdict", { hasText: "Your card was declined." }).waitFor();
  await fill(page, visa);
  await press(page);
  await arrives(page, made.id);
  assert.deepEqual((await chargesOf(made.id)).map((c) => c.amount), [3750]);
  assert.equal((await demo.get(`/v1/coupons/${coupon.id}`)).times_redeemed, 1);
  await page.goBack();
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  assert.match(await page.locator(".receipt").innerText(), /\$37\.50[\s\S]*-\$7\.50[\s\S]*Express\s+\$15\.00[\s\S]*Total\s+\$37\.50/);
  assert.deepEqual(page.complaints, []);
});

test("without JavaScript a buyer chooses the shipping, sees the total, and pays it", async () => {
  const { made } = await discounted();
  const page = await visit(made, { javaScriptEnabled: false });
  await fill(page, visa);
  await page.getByRole("radio", { name: "Express" }).check();
  await press(page);
  await page.locator("#verdict", { hasText: "The total is now $37.50." }).waitFor();
  assert.equal((await chargesOf(made.id)).length, 0);
  await page.getByRole("radio", { name: "Standard" }).check();
  await page.getByRole("button", { name: "Update the total" }).click();
  assert.match(await button(page).innerText(), /^Pay \$27\.50/);
  assert.equal(await page.inputValue("#billingName"), "Jenny Rosen");
  await fill(page, visa);
  await press(page);
  await arrives(page, made.id);
  assert.deepEqual((await chargesOf(made.id)).map((c) => c.amount), [2750]);
});

// withCode makes a session with a field for a promotion code, and a code that takes a quarter off.
async function withCode(code) {
  const coupon = await demo.post("/v1/coupons", { percent_off: 25, name: "Spring sale" });
  await demo.post("/v1/promotion_codes", { "promotion[type]": "coupon", "promotion[coupon]": coupon.id, code });
  const option = (i, name, amount) => ({
    [`shipping_options[${i}][shipping_rate_data][display_name]`]: name,
    [`shipping_options[${i}][shipping_rate_data][fixed_amount][amount]`]: amount,
    [`shipping_options[${i}][shipping_rate_data][fixed_amount][currency]`]: "usd",
  });
  return session({ allow_promotion_codes: true, ...option(0, "Standard", 500), ...option(1, "Express", 1500) });
}

test("a promotion code changes the total, is removed and applied again, and what was typed stays", async () => {
  const made = await withCode("SPRING");
  const page = await visit(made);
  const order = page.locator(".order"), code = page.getByLabel("Promotion code");
  await page.locator("#email").fill("jenny@example.com");
  await page.locator('[name="shipping"]').nth(1).check();
  await code.fill("WINTER");
  await code.press("Enter");
  await order.getByText("This code is not valid.").waitFor();
  assert.equal(await code.inputValue(), "WINTER");
  assert.match(await button(page).innerText(), /^Pay \$45\.00/);
  await code.fill("spring");
  await page.getByRole("button", { name: "Apply" }).click();
  await order.getByText("Discount: Spring sale").waitFor();
  assert.match(await order.innerText(), /-\$7\.50[\s\S]*Express\s*\$15\.00[\s\S]*Total\s*\$37\.50/);
  assert.match(await button(page).innerText(), /^Pay \$37\.50/);
  await accessible(page);
  await page.getByRole("button", { name: "Remove code SPRING" }).click();
  await code.waitFor();
  assert.match(await button(page).innerText(), /^Pay \$45\.00/);
  await code.fill("SPRING");
  await code.press("Enter");
  await order.getByText("Discount: Spring sale").waitFor();
  assert.equal(await page.locator("#email").inputValue(), "jenny@example.com");
  await fill(page, visa);
  await press(page);
  await arrives(page, made.id);
  const [charge] = await chargesOf(made.id);
  assert.equal(charge.amount, 3750);
  assert.deepEqual(page.complaints.filter((text) => !/ 400 /.test(text)), []);
});

test("without JavaScript a buyer applies a promotion code, removes it, and pays with it", async () => {
  const made = await withCode("FALL");
  const page = await visit(made, { javaScriptEnabled: false });
  const code = page.getByLabel("Promotion code");
  await code.fill("NONE");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("This code is not valid.").waitFor();
  assert.match(await button(page).innerText(), /^Pay \$35\.00/);
  await code.fill("fall");
  await code.press("Enter");
  await page.getByRole("button", { name: "Remove code FALL" }).click();
  await code.fill("fall");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Discount: Spring sale").waitFor();
  assert.match(await button(page).innerText(), /^Pay \$27\.50/);
  await fill(page, visa);
  await press(page);
  await arrives(page, made.id);
  assert.equal((await chargesOf(made.id))[0].amount, 2750);
});

const adjustable = (maximum) => session({
  "line_items[0][adjustable_quantity][enabled]": true, "line_items[0][adjustable_quantity][maximum]": maximum,
  "line_items[1][price_data][currency]": "usd", "line_items[1][price_data][unit_amount]": 500, "line_items[1][price_data][product_data][name]": "Sticker",
  "line_items[1][quantity]": 1, "line_items[1][adjustable_quantity][enabled]": true,
});

// soldIn are the items of a session, as its merchant sees them.
const soldIn = async (id) => (await demo.get(`/v1/checkout/sessions/${id}/line_items`)).data.map((i) => [i.description, i.quantity, i.amount_total]);

test("a buyer changes quantities, removes an item, and pays the new total", async () => {
  const made = await adjustable(4);
  const page = await visit(made);
  const more = page.getByRole("button", { name: "One more: Enamel mug" }), mugs = page.getByLabel("Quantity: Enamel mug");
  const total = (amount) => page.locator(".order .total", { hasText: amount }).waitFor();
  await page.locator("#email").fill("jenny@example.com");
  await more.focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter"); // before the answer: both count
  await total("$65.00");
  assert.equal(await mugs.inputValue(), "4");
  assert.ok(await more.isDisabled(), "more can be had than the merchant allows");
  assert.ok(await mugs.evaluate((e) => e === document.activeElement), "the focus is lost");
  await accessible(page);
  await mugs.fill("1");
  await page.locator("#billingName").click();
  await total("$20.00");
  assert.ok(await page.locator("#billingName").evaluate((e) => e === document.activeElement), "the answer takes the focus away");
  await page.getByRole("button", { name: "One less: Sticker" }).click();
  await total("$15.00");
  assert.ok(await page.getByRole("button", { name: "One less: Enamel mug" }).isDisabled(), "the only item can be removed");
  assert.match(await button(page).innerText(), /^Pay \$15\.00/);
  await mugs.fill("3");
  await mugs.press("Enter");
  await total("$45.00");
  assert.equal(await page.locator("#email").inputValue(), "jenny@example.com");
  await fill(page, visa);
  await press(page);
  await arrives(page, made.id);
  assert.deepEqual((await chargesOf(made.id)).map((c) => c.amount), [4500]);
  assert.deepEqual(await soldIn(made.id), [["Enamel mug", 3, 4500]]);
  await page.goBack();
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  assert.match(await page.locator(".receipt").innerText(), /Enamel mug\s+\$45\.00\s+3 × \$15\.00\s+Total\s+\$45\.00/);
  assert.deepEqual(page.complaints, []);
});

test("without JavaScript a buyer changes quantities, and pays the new total", async () => {
  const made = await adjustable(9);
  const page = await visit(made, { javaScriptEnabled: false });
  const mugs = page.getByLabel("Quantity: Enamel mug");
  await page.getByRole("button", { name: "One more: Enamel mug" }).click();
  assert.match(await button(page).innerText(), /^Pay \$50\.00/);
  await mugs.fill("6");
  await mugs.press("Enter");
  await page.locator(".order .total", { hasText: "$95.00" }).waitFor();
  await page.getByRole("button", { name: "One less: Sticker" }).click();
  assert.match(await button(page).innerText(), /^Pay \$90\.00/);
  await fill(page, visa);
  await press(page);
  await arrives(page, made.id);
  assert.deepEqual((await chargesOf(made.id)).map((c) => c.amount), [9000]);
  assert.deepEqual(await soldIn(made.id), [["Enamel mug", 6, 9000]]);
});

test("a declined card keeps the form, and the next one pays", async () => {
  const made = await session();
  const page = await visit(made);
  const key = await page.locator(".lost .key").textContent();
  for (const [number, words] of [[declined, "Your card was declined."], [poor, "Your card has insufficient funds."]]) {
    await fill(page, number);
    await press(page);
    await page.locator("#verdict", { hasText: words }).waitFor();
    await page.waitForFunction(() => { // the reason is in view, although the cursor is in a field below it
      const box = document.querySelector("#verdict").getBoundingClientRect();
      return box.top >= 0 && box.bottom <= innerHeight;
    });
    assert.equal(await page.getAttribute("#cardNumber", "aria-invalid"), "true");
  }
  assert.equal(await page.inputValue("#billingName"), "Jenny Rosen");
  assert.equal(await page.inputValue("#cardCvc"), "");
  assert.equal(await page.evaluate(() => document.activeElement.id), "cardNumber");
  assert.notEqual(await page.locator(".lost .key").textContent(), key, "the next attempt has a key of its own");
  await page.reload();
  await page.locator("#verdict", { hasText: "insufficient funds" }).waitFor();
  await fill(page, amex, "1234");
  assert.equal(await page.locator(".brand").textContent(), "Amex");
  assert.equal(await page.inputValue("#cardNumber"), "3782 822463 10005");
  await press(page);
  await arrives(page, made.id);
  assert.equal((await chargesOf(made.id)).length, 1);
  assert.deepEqual(page.complaints, []);
});

// What each published declining card is told, in the order of Stripe's list.
const refusals = {
  "4000000000000002": "Your card was declined.",
  "4000000000009995": "Your card has insufficient funds.",
  "4000000000009987": "Your card was declined.",
  "4000000000009979": "Your card was declined.",
  "4000000000000069": "Your card has expired.",
  "4000000000000127": "Your card's security code is incorrect.",
  "4000000000000119": "An error occurred while processing your card. Try again in a little bit.",
  "4000000000006975": "Your card was declined for making repeated attempts too frequently or exceeding its amount limit.",
  "4000000000000341": "Your card was declined.",
  "4100000000000019": "Your card was declined.",
  "4000000000004954": "Your card was declined.",
  "4000008400001629": "Your card was declined.",
  "4000008400001280": "An error occurred while processing your card. Try again in a little bit.",
  "4000008260003178": "Your card has insufficient funds.",
};

test("every declining card says why in its own words, and a good one then pays for the same", async () => {
  const made = await session();
  const page = await visit(made);
  await fill(page, visa);
  const attempt = () => page.inputValue('[name="attempt"]');
  let intent;
  for (const [number, words] of Object.entries(refusals)) {
    const before = await attempt();
    await page.fill("#cardNumber", number);
    await page.fill("#cardCvc", "123");
    await press(page);
    if (/^40000(084|082)/.test(number)) await bank(page).locator("#test-source-authorize-3ds").click();
    await until(async () => (await attempt()) !== before, 60_000);
    const says = page.locator("#verdict a").or(page.locator("#verdict:not(:has(a)) > div"));
    assert.equal(await says.innerText(), words, number);
    const tried = await buyer.intentOf(made.id);
    assert.equal(tried.last_payment_error.message, words, `${number}, by the API`);
    assert.equal(tried.id, intent ??= tried.id);
    const kept = await page.locator("#payment").evaluate((form) => Object.fromEntries(new FormData(form)));
    assert.deepEqual([kept.email, kept.cardNumber.replaceAll(" ", ""), kept.cardExpiry, kept.billingName, kept.billingPostalCode],
      ["jenny@example.com", number, "12 / 34", "Jenny Rosen", "94107"]);
  }
  await page.fill("#cardNumber", visa);
  await page.fill("#cardCvc", "123");
  await press(page);
  await arrives(page, made.id);
  assert.deepEqual((await chargesOf(made.id)).map((c) => c.payment_intent), [intent]);
  assert.deepEqual(page.complaints, []);
});

test("what is wrong is said on leaving a field and on Pay, and nothing is sent", async () => {
  const made = await session();
  const page = await visit(made);
  const sent = [];
  page.on("request", (r) => { if (r.method() === "POST") sent.push(r.url()); });
  await page.locator("#cardNumber").pressSequentially("424242424242424");
  assert.equal(await page.locator("#cardNumber-error").textContent(), "", "nothing is wrong with a beginning");
  await page.locator("#cardNumber").press("Tab");
  assert.equal(await page.locator("#cardNumber-error").textContent(), "Your card number is incomplete.");
  await page.locator("#cardNumber").focus();
  await page.keyboard.type("2");
  assert.equal(await page.locator("#cardNumber-error").textContent(), "");
  await page.locator("#cardExpiry").pressSequentially("120");
  await press(page);
  await page.locator("#verdict a").first().waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), "email");
  const faults = await page.locator("#verdict a").allTextContents();
  assert.deepEqual(faults, ["Your email is incomplete.", "Your card's expiration date is incomplete.", "Your card's security code is incomplete.", "Enter the name on the card.", "Your ZIP code is incomplete."]);
  await page.locator("#cardExpiry").fill("1/20");
  await page.locator("#cardExpiry").press("Tab");
  assert.equal(await page.locator("#cardExpiry-error").textContent(), "Your card's expiration date is in the past.");
  await page.locator("#billingPostalCode").fill("9410");
  await page.locator("#billingPostalCode").press("Tab");
  assert.equal(await page.locator("#billingPostalCode-error").textContent(), "Your ZIP code is incomplete.");
  await page.selectOption("#billingCountry", "GB");
  assert.equal(await page.locator("#billingPostalCode-error").textContent(), "");
  assert.equal(await page.locator('[data-field="billingPostalCode"] label').textContent(), "Postal code");
  await page.locator("#billingPostalCode").fill("");
  await press(page);
  assert.equal(await page.locator("#billingPostalCode-error").textContent(), "Your postal code is incomplete.");
  await page.selectOption("#billingCountry", "DE");
  assert.ok(await page.locator("#billingPostalCode").isHidden(), "nobody's bank asks for it there");
  assert.deepEqual(sent, []);
});

test("the bank's page stands in a frame: passed, failed, and called off", async () => {
  const made = await session();
  const page = await visit(made);
  const again = async () => { await fill(page, wanted); await press(page); await bank(page).locator("#test-source-fail-3ds").waitFor(); };
  const sorry = page.locator("#verdict", { hasText: "We are unable to authenticate your payment method." });
  await again();
  await bank(page).locator("#test-source-fail-3ds").click();
  await sorry.waitFor();
  await again();
  await page.keyboard.press("Escape");
  await page.locator("dialog.bank").waitFor({ state: "hidden" });
  await sorry.waitFor();
  assert.equal((await chargesOf(made.id)).length, 0);
  await again();
  const elsewhere = await visit(made);
  await elsewhere.getByRole("heading", { name: "Confirm it’s you with your bank" }).waitFor();
  await accessible(page);
  await bank(page).locator("#test-source-authorize-3ds").click();
  await arrives(page, made.id);
  assert.equal((await chargesOf(made.id)).length, 1);
  assert.deepEqual(page.complaints, []);
});

test("the bank's page: closed with its button, reloaded, and left open until the session expires", async () => {
  const made = await session();
  const page = await visit(made);
  const again = async () => { await fill(page, wanted); await press(page); await bank(page).locator("#test-source-authorize-3ds").waitFor(); };
  await again();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("#verdict", { hasText: "We are unable to authenticate your payment method." }).waitFor();
  assert.equal((await chargesOf(made.id)).length, 0);
  await again();
  await page.reload();
  await page.getByRole("link", { name: "Continue to your bank" }).click();
  await page.locator("#test-source-authorize-3ds").waitFor();
  await page.reload();
  await page.locator("#test-source-authorize-3ds").click();
  await arrives(page, made.id);
  assert.equal((await chargesOf(made.id)).length, 1);
  assert.deepEqual(page.complaints, []);
  const late = await session();
  await page.goto(late.url);
  await again();
  assert.equal((await demo.post(`/v1/checkout/sessions/${late.id}/expire`, {})).status, "expired");
  await page.getByRole("heading", { name: "This checkout has expired" }).waitFor({ timeout: 60_000 });
  assert.equal((await chargesOf(late.id)).length, 0);
});

test("the bank's page is open while the server is killed: its answer counts, once", async () => {
  const made = await session();
  const page = await visit(made);
  await fill(page, wanted);
  await press(page);
  await bank(page).locator("#test-source-authorize-3ds").waitFor();
  await loaded(bank(page));
  const heard = demo.heard();
  process.kill(demo.pid, "SIGKILL");
  await demo.says(/serve is back as (\d+)/, heard);
  await bank(page).locator("#test-source-authorize-3ds").click({ timeout: 60_000 });
  await arrives(page, made.id);
  assert.equal((await chargesOf(made.id)).length, 1);
});

for (const [where, opens] of [
  ["in a frame", async (page) => bank(page)],
  ["on its own", async (page) => {
    await page.reload();
    await page.getByRole("link", { name: "Continue to your bank" }).click();
    return page;
  }],
]) {
  test(`the bank's page ${where} sends its answer until the server takes it, and says so`, async () => {
    const made = await session(), page = await visit(made);
    await fill(page, wanted);
    await press(page);
    await bank(page).locator("#test-source-authorize-3ds").waitFor();
    const at = await opens(page), sent = [];
    await page.route(/3d_secure/, (route) => {
      const request = route.request();
      if (request.method() === "POST") sent.push(request.postData());
      if (request.method() !== "POST" || sent.length > 3) return route.continue();
      return sent.length % 2 ? route.abort("connectionreset") : route.fulfill({ status: 503, body: "not now" });
    });
    await loaded(at);
    await at.locator("#test-source-authorize-3ds").click();
    await at.getByText("You won’t be charged twice").waitFor();
    assert.ok(await at.locator("#test-source-fail-3ds").isDisabled());
    await arrives(page, made.id);
    assert.ok(sent.length > 3 && sent.every((body) => body === "result=pass"), `${sent}`);
    assert.equal((await chargesOf(made.id)).length, 1);
  });
}

test("without JavaScript: faults, a decline, the bank's page, and the shop", async () => {
  const made = await session();
  const page = await visit(made, { javaScriptEnabled: false });
  await page.fill("#cardNumber", "4242 4242 4242 4241");
  await page.fill("#billingName", "Jenny Rosen");
  await press(page);
  await page.getByText("Your card number is invalid.").first().waitFor();
  assert.equal(await page.inputValue("#billingName"), "Jenny Rosen");
  assert.ok(!(await page.locator("#payment .fields").innerHTML()).includes("4241"), "the number comes back from the server");
  await fill(page, declined);
  await press(page);
  await page.getByText("Your card was declined.").waitFor();
  assert.equal(await page.inputValue("#cardNumber"), "");
  await fill(page, wanted);
  await press(page);
  await page.reload();
  await page.getByRole("button", { name: "Use another card" }).click();
  await button(page).waitFor();
  assert.equal(await page.getByText("We are unable to authenticate your payment method.").count(), 0, "nothing failed");
  assert.ok(await page.locator("#verdict").isHidden());
  await fill(page, wanted);
  await press(page);
  await page.getByRole("link", { name: "Continue to your bank" }).click();
  await page.getByRole("button", { name: "Complete authentication" }).click();
  await arrives(page, made.id);
  assert.equal((await chargesOf(made.id)).length, 1);
  await page.goto(made.url);
  await page.getByRole("heading", { name: "Paid" }).waitFor();
});

test("a double click and two tabs are one charge", async () => {
  const made = await session();
  const [one, two] = [await visit(made), await visit(made)];
  for (const page of [one, two]) await fill(page, visa);
  await Promise.all([button(one).dblclick(), button(two).dblclick()]);
  await Promise.all([arrives(one, made.id), arrives(two, made.id)]);
  assert.equal((await chargesOf(made.id)).length, 1);
});

test("another card in a second tab waits for the first, and charges nothing", async () => {
  const made = await session();
  const [one, two, three] = [await visit(made), await visit(made), await visit(made)];
  await fill(one, visa);
  await slow(one);
  await press(one);
  await under(made, "processing");
  await fill(two, amex, "1234");
  await press(two);
  await two.locator(".lost", { hasText: "This order is being paid in another tab. You will not be charged twice." }).waitFor();
  await three.reload();
  await three.getByText("Confirming with your bank").waitFor();
  await Promise.all([one, two, three].map((page) => arrives(page, made.id)));
  const charges = await chargesOf(made.id);
  assert.deepEqual(charges.map((c) => c.payment_method_details.card.last4), ["4242"]);
});

const slow = (page) => breaks(page, "slow:8000");
const under = (made, state) => until(async () => (await stateOf(made)) === state);

// Chromium may send a request again by itself when a connection that it has used before is reset. If the server is
// back by then, the page has lost nothing, and this returns false.
async function payWhileKilled() {
  const made = await session();
  const page = await visit(made);
  await fill(page, visa);
  await slow(page);
  const pid = Number((await page.locator(".drawer pre").innerText()).match(/kill -9 (\d+)/)[1]);
  await press(page);
  await under(made, "processing");
  const heard = demo.heard();
  process.kill(pid, "SIGKILL");
  const lost = page.locator(".lost", { hasText: "Connection lost. You will not be charged twice." }).waitFor();
  const seen = await Promise.race([lost.then(() => true), page.waitForURL(/paid=cs_test_/).then(() => false)]);
  if (seen) {
    await page.screenshot({ path: `${shots}checkout_lost.light.1280.png` });
    assert.ok(await page.locator("#cardNumber").isDisabled(), "nothing can be changed meanwhile");
  } else {
    lost.catch(() => {}); // the page is another one
  }
  await demo.says(/serve is back as (\d+)/, heard);
  const back = Date.now();
  await arrives(page, made.id);
  const late = Date.now() - back;
  assert.ok(late < 10_000, `it took ${late} ms`);
  assert.equal((await chargesOf(made.id)).length, 1);
  await page.goto(made.url);
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  return seen;
}

test("the server is killed while the card is charged: one charge, and the buyer arrives", async () => {
  let seen = false;
  for (let tries = 0; tries < 3 && !seen; tries++) seen = await payWhileKilled();
  assert.ok(seen, "three pages did not say that the connection was lost");
});

test("the bank takes eight seconds once, and not again with every try", async () => {
  const page = await visit(await session());
  const wishes = [];
  page.on("request", (r) => { if (r.method() === "POST") wishes.push(new URLSearchParams(r.postData()).get("bank_fault")); });
  await fill(page, visa);
  await breaks(page, "drop_after_acting");
  await page.press("#cardCvc", "Enter");
  await page.getByText("Confirming…").waitFor();
  assert.ok(await button(page).evaluate((it) => it === document.activeElement), "the focus is on what is under way, and not lost with the field");
  await until(() => wishes.length > 1);
  assert.deepEqual(wishes.slice(0, 2), ["drop_after_acting", null]);
  await page.waitForURL(/paid=cs_test_/, { timeout: 60_000 });
});

test("a card is kept without a payment", async () => {
  const made = await setup();
  const page = await visit(made);
  assert.equal(await page.inputValue("#email"), "ada@example.com");
  assert.ok(await page.locator("#email").evaluate((field) => field.readOnly), "the merchant knows who it is");
  await page.locator(".drawer > summary").click();
  await page.getByRole("button", { name: "Fill in: Visa" }).click();
  assert.match(await button(page).innerText(), /^Save card/);
  await press(page);
  await arrives(page, made.id);
  assert.equal((await demo.get(`/v1/checkout/sessions/${made.id}`)).status, "complete");
  await page.goto(made.url);
  await page.getByRole("heading", { name: "Your card is saved" }).waitFor();
});

test("an expired session, an unknown one, and a stranger's form", async () => {
  const made = await session();
  const stale = await visit(made);
  await demo.post(`/v1/checkout/sessions/${made.id}/expire`, {});
  await fill(stale, visa);
  await press(stale);
  await stale.getByRole("heading", { name: "This checkout has expired" }).waitFor();
  assert.equal(await stale.locator('a[href$="?cart"]').count(), 1);
  const page = await browser.newPage();
  assert.equal((await page.goto(`${demo.base}/c/pay/cs_test_none`)).status(), 404);
  const gone = await visit(await session());
  await fill(gone, visa);
  await gone.evaluate(() => { // as if the session had been there when the page was drawn
    history.replaceState(null, "", "/c/pay/cs_test_none");
    document.querySelector("#payment").action = location.href;
  });
  await press(gone);
  await gone.getByRole("heading", { name: "Checkout not found" }).waitFor();
  const forged = await fetch(`${demo.base}/c/pay/${(await session()).id}`, { method: "POST", body: new URLSearchParams({ attempt: "0" }), headers: { "sec-fetch-site": "cross-site" } });
  assert.equal(forged.status, 403);
});

test("with the keyboard alone, and the focus is always in sight", async () => {
  const made = await session();
  const page = await visit(made);
  const typed = { email: "jenny@example.com", cardNumber: wanted, cardExpiry: "1234", cardCvc: "123", billingName: "Jenny Rosen", billingPostalCode: "94107" };
  for (let steps = 0; ; steps++) {
    assert.ok(steps < 20, "Tab does not lead to the button");
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const { id, dataset } = document.activeElement, box = document.activeElement.getBoundingClientRect();
      return { id, button: Boolean(dataset.testid), seen: box.top >= 0 && box.bottom < innerHeight + 1 };
    });
    assert.ok(at.seen, `${at.id} is out of sight`);
    if (at.button) break;
    if (typed[at.id]) await page.keyboard.type(typed[at.id]);
  }
  await page.keyboard.press("Enter");
  await bank(page).locator("#test-source-authorize-3ds").waitFor();
  await until(async () => {
    await page.keyboard.press("Tab");
    return bank(page).locator("#test-source-authorize-3ds:focus").count();
  });
  await page.keyboard.press("Enter");
  await arrives(page, made.id);
  assert.equal((await chargesOf(made.id)).length, 1);
});

test("every state is in order, light and dark, wide, narrow and enlarged", async (t) => {
  const states = {};
  states.full = (await session({ billing_address_collection: "required", "phone_number_collection[enabled]": "true", submit_type: "donate", "custom_text[submit][message]": "W".repeat(1200), "custom_text[after_submit][message]": "Thank you.\nSee our shop." })).url;
  states.form = (await session({ "line_items[1][quantity]": 1, "line_items[1][price_data][currency]": "usd", "line_items[1][price_data][unit_amount]": 8900, "line_items[1][price_data][product_data][name]": "Wool blanket, undyed, made in Shetland" })).url;
  states.yen = (await session({ "line_items[0][price_data][currency]": "jpy" })).url;
  states.setup = (await setup()).url;
  states.missing = `${demo.base}/c/pay/cs_test_none`;
  const expired = await session(), paid = await session(), asked = await session();
  await demo.post(`/v1/checkout/sessions/${expired.id}/expire`, {});
  await demo.post(`/v1/payment_pages/${paid.id}/confirm`, { payment_method: "pm_card_visa", email: "jenny@example.com" });
  const { payment_intent } = await demo.post(`/v1/payment_pages/${asked.id}/confirm`, { payment_method: "pm_card_threeDSecure2Required", email: "jenny@example.com" });
  Object.assign(states, { expired: expired.url, receipt: paid.url, bank: asked.url, challenge: payment_intent.next_action.redirect_to_url.url });
  for (const [name, address] of Object.entries(share(states))) await t.test(name, () => inOrder(name, address));
});

async function inOrder(name, address) {
  for (const [width, height] of [[1280, 900], [360, 800], [320, 256]]) { // the last is 1280 by 1024, enlarged four times
    const context = await browser.newContext({ viewport: { width, height }, reducedMotion: "reduce" });
    const page = await watched(context, demo.base);
    await page.goto(address, { waitUntil: "load" });
    if (name === "full") await press(page);
    for (const fold of await page.locator("summary").all()) if (name === "full") await fold.click();
    for (const theme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      if (height > 300) await page.screenshot({ path: `${shots}checkout_${name}.${theme}.${width}.png`, fullPage: true });
      if (height > 300) await accessibleIn(page, theme, width);
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `it scrolls sideways at ${width}`);
    const small = await page.evaluate(() => [...document.querySelectorAll("main :is(button, input, select, summary, .actions a)")]
      .filter((e) => e.checkVisibility() && e.type !== "checkbox" && !e.closest(".code") && e.getBoundingClientRect().height < 43.5).map((e) => e.outerHTML.slice(0, 90)));
    assert.deepEqual(small, [], "smaller than a finger");
    assert.deepEqual(page.complaints.filter((c) => !(name === "missing" && c.includes("404"))), []);
    await context.close();
  }
}

test("the page is light: at most 60 KB, and nothing from elsewhere", async () => {
  const page = await visit(await session());
  const bytes = await page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].reduce((sum, e) => sum + e.transferSize, 0));
  assert.ok(bytes > 10_000 && bytes <= 60_000, `${bytes} bytes`);
});
