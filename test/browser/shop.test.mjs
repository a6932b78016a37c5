import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { accessibleIn, launch, loaded, share, watched } from "./browser.mjs";
import { startDemo, until } from "./demo.mjs";
import { bankFrame, paymentFrame } from "./merchant.mjs";

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

// pay pays for a session as Stripe's command line does, past the hosted page.
const pay = (session) => demo.post(`/v1/payment_pages/${session}/confirm`, { payment_method: "pm_card_visa", email: "jenny@example.com" }, `pay-${session}`);

// fill puts things into a cart that is this page's browser's.
async function fill(page, ...names) {
  for (const name of names) {
    await page.goto(`${demo.base}/shop`);
    await page.getByRole("button", { name: `Add to cart: ${name}` }).click();
    await page.waitForURL("**/shop/cart");
  }
}

// order presses Pay and returns the session and the order behind it, without
// looking at the page it leads to.
async function order(page) {
  await page.goto(`${demo.base}/shop/cart`);
  const leads = page.waitForResponse((r) => r.request().method() === "POST" && r.url().endsWith("/shop/pay"));
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  const to = (await leads).headers().location;
  await page.waitForURL(to);
  const session = await demo.get(`/v1/checkout/sessions/${new URL(to).pathname.split("/").pop()}`);
  return { session: session.id, to, id: session.client_reference_id, back: session.success_url.replace("{CHECKOUT_SESSION_ID}", session.id), left: session.cancel_url };
}

// bought is an order of a mug that is paid, and known to be.
async function bought(page) {
  await fill(page, "Mug");
  const made = await order(page);
  await pay(made.session);
  await page.goto(made.back);
  await page.locator('[data-state="paid"]').waitFor();
  return made;
}

test("an order is paid when the signed webhook says so, and not before", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await fill(page, "Mug");
  const made = await order(page);
  await page.goto(made.back); // as if he had paid
  await page.getByText("Confirming.").waitFor();
  const told = page.locator("[aria-live]");
  await told.evaluate((region) => new MutationObserver(() => { document.body.dataset.told = Number(document.body.dataset.told ?? 0) + 1; }).observe(region, { childList: true, subtree: true }));
  for (let asked = 0; asked < 2; asked++) await page.waitForResponse(made.back);
  page.complaints.length = 0;
  await pay(made.session);
  await page.locator('[data-state="paid"]').waitFor();
  assert.equal(await page.locator("body").getAttribute("data-told"), "1", "who does not see the page is told of changes, and of nothing else");
  assert.match(await told.innerText(), /^Paid, once\.[^\n]*$/, "and hears what changed, not the whole page");
  assert.equal(await told.getAttribute("every"), null, "it stops asking");
  await page.getByRole("heading", { name: "Delivered 1 time, processed once" }).waitFor();
  assert.match(await page.locator(".facts").innerText(), /evt_\w+\s+type\s+checkout\.session\.completed\s+did\s+paid/);
  await page.goto(`${demo.base}/shop/cart`);
  await page.getByText("Your cart is empty").waitFor();
  assert.deepEqual(page.complaints, []);
});

test("delivered twice more, it is processed once; and so it is when the button is pressed twice", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await bought(page);
  await page.getByRole("button", { name: "Send it two more times" }).dblclick();
  await page.getByRole("heading", { name: "Delivered 3 times, processed once" }).waitFor();
  assert.equal(await page.getByText("Order marked paid.").count(), 1);
  assert.equal(await page.locator("#deliveries").locator("xpath=../..").getByText("Duplicate").count(), 2);
});

test("the order leads to the inspector of the request that charged the card", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await bought(page);
  await page.getByRole("link", { name: "Inspect the charge" }).click();
  await page.getByRole("heading", { name: /payment_pages/ }).waitFor();
  assert.equal(await page.locator(".call-box tbody tr").count(), 1, "the acquirer moved the card once");
  await page.goBack();
  await page.getByRole("link", { name: "View payment", exact: true }).click();
  await page.waitForURL(/dashboard\/payments\/pi_/);
});

test("Pay pressed twice, in two tabs and after the API was killed is one order and one session", async () => {
  const context = await browser.newContext();
  const page = await watched(context, demo.base);
  await fill(page, "Mug", "Umbrella");
  const first = await order(page);
  const heard = demo.heard();
  process.kill(demo.pid, "SIGKILL");
  await demo.says(/serve is back as (\d+)/, heard);
  await until(() => fetch(`${demo.base}/shop`).then((r) => r.ok).catch(() => false));
  const second = await order(await watched(context, demo.base));
  assert.deepEqual(second, first);
  await page.goto(`${demo.base}/shop/cart`);
  await page.getByRole("button", { name: "Add one Mug" }).click();
  await page.getByText("$63.00").first().waitFor();
  assert.notEqual((await order(page)).session, first.session, "another cart is another order");
});

test("from the front page: a mug, a card, SIGKILL while it is charged, the order paid once, and the inspector", async () => {
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  await page.goto(demo.base);
  await page.getByRole("link", { name: /Open the shop/ }).click();
  await page.getByRole("button", { name: "Add to cart: Mug" }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.waitForURL("**/c/pay/cs_test_*");
  await page.fill("#email", "jenny@example.com");
  await page.fill("#cardNumber", "4242424242424242");
  await page.fill("#cardExpiry", "12 / 34");
  await page.fill("#cardCvc", "123");
  await page.fill("#billingName", "Jenny Rosen");
  await page.fill("#billingPostalCode", "94107");
  await page.locator(".drawer > summary").click();
  await page.selectOption("#bank_fault", "slow:8000");
  const heard = demo.heard(), session = demo.base + new URL(page.url()).pathname;
  await page.getByTestId("hosted-payment-submit-button").click();
  await until(async () => (await fetch(`${session}/state`).then((r) => r.json()).catch(() => ({}))).state === "processing");
  const died = demo.pid;
  process.kill(died, "SIGKILL");
  await demo.says(/serve is back as (\d+)/, heard);
  await page.waitForURL("**/shop/orders/order_*", { timeout: 60_000 });
  await page.locator('[data-state="paid"]').waitFor({ timeout: 60_000 });
  await page.getByText("processed once").waitFor();
  await page.getByRole("link", { name: "Inspect the charge" }).click();
  await page.locator(".rail .death").waitFor();
  assert.match(await page.locator(".timeline").innerText(), new RegExp(`process ${died} stopped responding`));
  assert.equal(await page.locator(".call-box tbody tr").count(), 1, "the acquirer moved the card once");
  assert.deepEqual(page.complaints.filter((c) => !/ERR_|Failed to load resource/.test(c)), []);
});

test("who leaves the payment page finds his cart", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await fill(page, "Ledger", "Ledger");
  const made = await order(page);
  await page.goto(made.left);
  await page.getByText("You left checkout.").waitFor();
  assert.match(await page.getByRole("list", { name: "Cart items" }).innerText(), /Ledger[\s\S]*2[\s\S]*\$28\.00/);
  await page.goto(`${demo.base}/shop/orders/${made.id}`);
  await page.getByText("Waiting for payment.").waitFor();
});

const visa = "4242424242424242", declined = "4000000000000002", authenticated = "4000000000003220";

// atShop puts a mug into the cart, and goes to the shop's own page for the payment.
async function atShop(page, ...names) {
  await fill(page, ...(names.length ? names : ["Mug"]));
  await page.getByRole("button", { name: "Pay on the shop’s page" }).click();
  await page.waitForURL("**/shop/orders/order_*/pay");
  await paymentFrame(page).locator('[name="number"]').waitFor();
  const { pathname } = new URL(page.url()), id = pathname.split("/")[3];
  const session = (await demo.get("/v1/checkout/sessions?limit=100")).data.find((s) => s.client_reference_id === id && s.status === "open");
  return { id, session: session.id };
}

async function enter(page, number) {
  await page.getByLabel("Email").fill("jenny@example.com");
  const frame = paymentFrame(page);
  for (const [field, text] of Object.entries({ number, expiry: "12 / 34", cvc: "123" })) await frame.locator(`[name="${field}"]`).fill(text);
  await frame.locator('[name="country"]').selectOption("US");
  await frame.locator('[name="postalCode"]').fill("10000");
}

const payButton = (page) => page.getByRole("button", { name: /^Pay \$/ });
const orderPaid = async (page, address = "**/shop/orders/order_*?session_id=*") => {
  await page.waitForURL(address, { timeout: 60_000 });
  await page.locator('[data-state="paid"]').waitFor({ timeout: 60_000 });
};
const chargesOf = async ({ session }) => {
  const { payment_intent: intent } = await demo.get(`/v1/checkout/sessions/${session}`);
  return (await demo.get(`/v1/charges?limit=100&payment_intent=${intent}`)).data.filter((c) => c.paid);
};

test("on the shop's own page, a card is declined and another one pays, and the page never contains them", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 1280, height: 1200 } }), demo.base);
  const made = await atShop(page);
  await payButton(page).click();
  await page.getByText("Your email is incomplete.").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), "email");
  await enter(page, declined);
  await payButton(page).click();
  await page.getByText("Your card was declined.").waitFor();
  await enter(page, visa);
  assert.equal(await page.locator("shop-pay input").count(), 1, "the page itself asks for an email, and for nothing of the card");
  await payButton(page).dblclick();
  await orderPaid(page);
  assert.deepEqual((await chargesOf(made)).map((c) => [c.amount, c.billing_details.email]), [[1800, "jenny@example.com"]]);
  await page.goto(`${demo.base}/shop/cart`);
  await page.getByText("Your cart is empty").waitFor();
  assert.deepEqual(page.complaints.filter((c) => !c.includes("402")), []);
});

test("on the shop's own page, the bank asks, the server is killed meanwhile, and the card is charged once", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 1280, height: 1200 } }), demo.base);
  const made = await atShop(page);
  await enter(page, authenticated);
  await payButton(page).click();
  await bankFrame(page).locator("#test-source-authorize-3ds").waitFor();
  await loaded(bankFrame(page));
  await demo.kill();
  await bankFrame(page).locator("#test-source-authorize-3ds").click();
  await orderPaid(page);
  assert.equal((await chargesOf(made)).length, 1);
});

for (const [what, reload] of [["left open", false], ["reloaded", true]]) {
  test(`the shop's own page is ${what} while the server is killed in the middle of the charge: paid, once`, async () => {
    const page = await watched(await browser.newContext({ viewport: { width: 1280, height: 1200 } }), demo.base);
    const made = await atShop(page);
    await page.route(/\/confirm$/, (route) => route.continue({ headers: { ...route.request().headers(), "acquirer-fault": "slow:4000" } }), { times: 1 });
    await enter(page, visa);
    await payButton(page).click();
    await until(async () => (await demo.get("/v1/payment_intents?limit=5")).data.some((i) => i.status === "processing"));
    await demo.kill();
    if (reload) {
      await until(async () => (await demo.get(`/v1/checkout/sessions/${made.session}`)).status === "complete", 60_000);
      // The page itself may be faster to go on. Otherwise the shop leads from its page to the order that is paid.
      await page.reload().catch((error) => assert.match(error.message, /ERR_ABORTED|Not attached/));
    }
    await orderPaid(page, reload ? "**/shop/orders/order_*" : undefined);
    assert.equal((await chargesOf(made)).length, 1);
  });
}

test("a cart is paid on one of the two pages: a customer who goes to the other cannot pay on the first", async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 1200 } });
  const hosted = await watched(context, demo.base), own = await watched(context, demo.base);
  await fill(hosted, "Mug");
  const first = await order(hosted);
  await own.goto(`${demo.base}/shop/cart`);
  await own.getByRole("button", { name: "Pay on the shop’s page" }).click();
  await own.waitForURL("**/shop/orders/order_*/pay");
  assert.equal((await demo.get(`/v1/checkout/sessions/${first.session}`)).status, "expired");
  await enter(own, visa);
  const there = await own.context().newPage();
  await there.goto(`${demo.base}/shop/cart`);
  const second = await order(there); // and back to the first page
  assert.notEqual(second.session, first.session);
  await payButton(own).click();
  await own.locator("shop-pay [role=alert]").getByText(/expired/).waitFor();
  await pay(second.session);
  await there.goto(second.back);
  await there.locator('[data-state="paid"]').waitFor();
  await own.reload(); // an order that has ended has no page to pay on
  await own.locator('[data-state="expired"]').waitFor();
});

test("without JavaScript the shop's own page leads to the one that works", async () => {
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await fill(page, "Mug");
  await page.getByRole("button", { name: "Pay on the shop’s page" }).click();
  await page.locator("noscript p").waitFor();
});

test("a cart whose cookie was tampered with is empty, and what is not an order is not there", async () => {
  const context = await browser.newContext();
  const page = await watched(context, demo.base);
  await fill(page, "Mug");
  const [cookie] = (await context.cookies()).filter((c) => c.name === "shop_cart");
  await context.addCookies([{ ...cookie, value: cookie.value.replace("mug-1", "mug-9") }]);
  await page.goto(`${demo.base}/shop/cart`);
  await page.getByText("Your cart is empty").waitFor();
  assert.equal((await fetch(`${demo.base}/shop/orders/order_none`)).status, 404);
  const forged = await fetch(`${demo.base}/shop/cart`, { method: "POST", headers: { "sec-fetch-site": "cross-site" }, body: new URLSearchParams({ product: "mug" }) });
  assert.equal(forged.status, 403);
});

test("without JavaScript a mug is bought", async () => {
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await page.goto(`${demo.base}/shop/cart`);
  await page.getByRole("button", { name: "Add a mug" }).click();
  await page.getByRole("button", { name: "Add one Mug" }).click();
  await page.getByRole("button", { name: "Remove one Mug" }).click();
  const made = await order(page);
  await page.goto(made.back);
  await page.getByText("Confirming.").waitFor();
  await pay(made.session);
  await page.getByText("Paid, once.").waitFor(); // the page looks again by itself
  await page.getByRole("button", { name: "Send it two more times" }).click();
  await page.getByRole("heading", { name: "Delivered 3 times, processed once" }).waitFor();
});

test("the shop's process can be killed, and comes back with its orders", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  const made = await bought(page);
  const heard = demo.heard();
  process.kill(demo.shop, "SIGKILL");
  demo.shop = Number((await demo.says(/shop is back as (\d+)/, heard))[1]);
  await until(() => fetch(`${demo.base}/shop/orders/${made.id}`).then(async (r) => r.ok && (await r.text()).includes("Paid, once.")));
});

// backed gives the frame the color that shows through it: axe takes a frame without a color for white.
async function backed(page) {
  const color = await page.locator("section.card").first().evaluate((card) => getComputedStyle(card).backgroundColor);
  await paymentFrame(page).locator("body").evaluate((body, behind) => { body.style.backgroundColor = behind; }, color);
}

for (const width of [1280, 360, 320]) {
  test(`every page of the shop is in order, light and dark, ${width} pixels wide`, async (t) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, reducedMotion: "reduce" });
    const page = await watched(context, demo.base);
    const paid = await bought(page);
    await page.getByRole("button", { name: "Send it two more times" }).click();
    await page.getByRole("heading", { name: "Delivered 3 times, processed once" }).waitFor();
    await fill(page, "Mug", "Mug", "Ratchet spanner", "Bookends");
    const open = await order(page);
    const visitor = await browser.newContext(), own = await atShop(await visitor.newPage(), "Ledger");
    await visitor.close();
    const pages = {
      shelf: "/shop", cart: "/shop/cart", cart_left: `/shop/cart?left=${open.id}`, order_waiting: `/shop/orders/${open.id}`, pay: `/shop/orders/${own.id}/pay`,
      order_confirming: new URL(open.back).pathname + new URL(open.back).search, order_paid: `/shop/orders/${paid.id}`, cart_empty: "/shop/cart", missing: "/shop/orders/none",
    };
    for (const [name, path] of Object.entries(share(pages))) {
      await t.test(name, async () => {
        page.complaints.length = 0;
        const answer = await page.goto(demo.base + path, { waitUntil: "load" });
        assert.equal(answer.status(), name === "missing" ? 404 : 200);
        if (name === "pay") await paymentFrame(page).locator('[name="number"]').waitFor();
        for (const theme of ["light", "dark"]) {
          await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
          await page.screenshot({ path: `${shots}shop_${name}.${theme}.${width}.png`, fullPage: true });
          if (name === "pay") await backed(page);
          await accessibleIn(page, theme, width);
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
        assert.deepEqual(page.complaints.filter((c) => !(name === "missing" && c.includes("404"))), []);
      });
    }
    await context.close();
  });
}
