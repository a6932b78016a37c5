// Stripe.js, call by call: what a merchant's page can call, hear and find in it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { launch } from "./browser.mjs";
import { startDemo, until } from "./demo.mjs";
import { bankFrame, cardFrame, fillCard, fillPayment, openShop, paymentFrame, visit } from "./merchant.mjs";

const visa = "4242424242424242",
  declined = "4000000000000002",
  authenticated = "4000000000003220";
const trains = ["v3", "basil", "clover", "dahlia", "endive"];
const places = ["payment", "card", "email", "address", "other"].map((id) => `<div id="${id}"></div>`).join("");
const pages = Object.fromEntries(
  trains.map((train) => [
    train,
    `<script src="BASE/${train === "v3" ? "v3/" : `${train}/stripe.js`}"></script>
  <body><main><h1>Pay</h1>${places}</main>
  <script>window.stripe = Stripe("pk_test_ratchet_demo"); window.seen = [];</script></body>`,
  ]),
);

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

const opened = async (train) =>
  visit(
    await browser.newContext({ reducedMotion: "reduce", viewport: { width: 1280, height: 1600 } }),
    shop,
    demo,
    train,
  );
const intentFor = () =>
  demo.post("/v1/payment_intents", { amount: 1400, currency: "usd", "automatic_payment_methods[enabled]": "true" });
const sessionFor = (more) =>
  demo.post("/v1/checkout/sessions", {
    mode: "payment",
    "line_items[0][price_data][currency]": "usd",
    "line_items[0][price_data][unit_amount]": 2000,
    "line_items[0][price_data][product_data][name]": "T-shirt",
    "line_items[0][quantity]": 1,
    return_url: `${shop.base}/complete?session_id={CHECKOUT_SESSION_ID}`,
    ...more,
  });

// mounted puts elements onto a page and waits until they are ready.
const mounted = (page, options, elements) =>
  page.evaluate(
    async ([options, elements]) => {
      window.elements = stripe.elements(options);
      await Promise.all(
        elements.map(
          ([type, at, more]) =>
            new Promise((resolve) => {
              const element = window.elements.create(type, more);
              for (const name of [
                "loaderstart",
                "ready",
                "change",
                "focus",
                "blur",
                "networkschange",
                "carddetailschange",
              ])
                element.on(name, (event) => seen.push([type, name, event]));
              element.once("ready", resolve).mount(at);
            }),
        ),
      );
    },
    [options, elements],
  );

// names are the functions of Stripe.js, as Stripe declares them.
const names = [
  ...new Set(
    [
      ...readFileSync("node_modules/@stripe/stripe-js/dist/stripe-js/stripe.d.ts", "utf8").matchAll(/^ {2}(\w+)\(/gm),
    ].map(([, name]) => name),
  ),
];
const ours = new Set(
  ("confirmPayment confirmSetup confirmCardPayment confirmCardSetup createConfirmationToken createPaymentMethod " +
    "createEmbeddedCheckoutPage createToken elements handleCardAction handleNextAction initCheckoutElementsSdk " +
    "paymentRequest registerAppInfo retrievePaymentIntent retrieveSetupIntent").split(" "),
);

test("every function that Stripe declares is here, or says that it is not available", async () => {
  assert.ok(names.length > 60 && names.filter((name) => ours.has(name)).length === ours.size, `${names}`);
  const page = await opened("endive"),
    missing = names.filter((name) => !ours.has(name));
  assert.deepEqual(await page.evaluate((all) => all.filter((name) => typeof stripe[name] !== "function"), names), []);
  const answers = await page.evaluate(
    (all) =>
      Promise.all(
        all.map(async (name) => {
          try {
            return [name, (await stripe[name]("x")).error];
          } catch (problem) {
            return [name, { type: problem.name, message: problem.message }];
          }
        }),
      ),
    missing,
  );
  for (const [name, { type, code, message }] of answers) {
    assert.deepEqual(
      [type, code],
      name.startsWith("init")
        ? ["IntegrationError", undefined]
        : ["invalid_request_error", "payment_method_unavailable"],
      name,
    );
    assert.equal(
      message,
      `stripe.${name}() is not available in this test environment. See ${demo.base}/docs/divergences`,
    );
  }
  assert.equal((await fetch(`${demo.base}/docs/divergences`)).status, 200);
});

test("an element that is not here says so, a wallet is silent, and an unknown one is an error", async () => {
  const page = await opened("v3");
  await mounted(page, {}, [
    ["idealBank", "#other"],
    ["expressCheckout", "#card"],
  ]);
  await page.frameLocator("#other iframe").getByText("not available").waitFor();
  assert.equal(await page.locator("#card iframe").count(), 0);
  assert.match(
    await page.evaluate(() => {
      try {
        elements.create("carrot");
      } catch (e) {
        return `${e.name}: ${e.message}`;
      }
    }),
    /^IntegrationError: A valid Element name must be provided/,
  );
  assert.deepEqual(page.complaints, []);
});

test("elements can be called and heard as at Stripe", async () => {
  const page = await opened("dahlia");
  await mounted(
    page,
    { mode: "payment", amount: 1400, currency: "usd", paymentMethodTypes: ["card"], captureMethod: "manual" },
    [["payment", "#payment"]],
  );
  const [started, ready] = await page.evaluate(() => seen);
  assert.deepEqual(
    [started, ready],
    [
      ["payment", "loaderstart", { elementType: "payment" }],
      ["payment", "ready", { elementType: "payment" }],
    ],
  );
  assert.equal((await page.evaluate(() => elements.submit())).error.type, "validation_error");
  await fillPayment(page, visa);
  assert.deepEqual(await page.evaluate(() => elements.submit()), { selectedPaymentMethod: "card" });
  const heard = (type, name) =>
    page.evaluate(
      ([type, name]) => seen.filter((one) => one[0] === type && one[1] === name).map(([, , event]) => event),
      [type, name],
    );
  assert.deepEqual(await heard("payment", "carddetailschange"), [
    { elementType: "payment", loading: false, details: { brands: ["visa"], funding: null } },
  ]);
  const last = (await heard("payment", "change")).at(-1);
  assert.deepEqual(last, {
    elementType: "payment",
    empty: false,
    complete: true,
    error: undefined,
    collapsed: false,
    value: { type: "card" },
  });
  await page.evaluate(() => elements.getElement("payment").clear());
  await until(async () => (await heard("payment", "change")).at(-1).empty);
  assert.equal(await paymentFrame(page).locator('[name="number"]').inputValue(), "");
  await page.evaluate(() => elements.getElement("payment").collapse().focus());
  await until(async () => (await heard("payment", "focus")).length);
  await page.evaluate(() => elements.getElement("payment").blur());
  await until(async () => (await heard("payment", "blur")).length);
  const rest = await page.evaluate(async () => {
    const ended = new Promise((resolve) => {
        elements.on("update-end", resolve);
      }),
      updated = elements.update({ amount: 1500 });
    return { promise: updated instanceof Promise, ended: await ended, fetched: await elements.fetchUpdates() };
  });
  assert.deepEqual(rest, { promise: true, ended: { status: "complete" }, fetched: {} });
  await mounted(page, {}, [["card", "#card"]]);
  await fillCard(page, visa);
  await until(async () => (await heard("card", "networkschange")).length);
  assert.deepEqual(await heard("card", "networkschange"), [{ elementType: "card" }]);
  assert.deepEqual(page.complaints, []);
});

test("frames, fields and the bank's page have the names that tests of merchants look for", async () => {
  const page = await opened("v3"),
    intent = await intentFor();
  await mounted(page, { clientSecret: intent.client_secret }, [
    ["payment", "#payment"],
    ["linkAuthentication", "#email"],
    ["address", "#address", { mode: "shipping" }],
  ]);
  const [card, email, address] = await Promise.all(
    ["payment", "email", "address"].map(async (id) => {
      const frame = page.locator(`#${id} iframe[name^="__privateStripeFrame"]`);
      return [await frame.getAttribute("title"), new URL(await frame.getAttribute("src")).pathname];
    }),
  );
  assert.deepEqual(
    [card, email, address].map(([title]) => title),
    ["Secure payment input frame", "Secure email input frame", "Secure address input frame"],
  );
  assert.match(`${card} ${address}`, /elements-inner-payment.*elements-inner-address/);
  const controller = page.locator('iframe[name^="__privateStripeController"]');
  assert.deepEqual([await controller.count(), await controller.isVisible()], [1, false]);
  const namesIn = (frame) => frame.locator("input, select").evaluateAll((all) => all.map((e) => [e.name, e.id]));
  const fields = new Map(await namesIn(paymentFrame(page)));
  for (const name of ["number", "expiry", "cvc", "country", "postalCode"])
    assert.equal(fields.get(name), `Field-${name}Input`);
  assert.equal(await paymentFrame(page).locator('[data-testid="card"][data-value="card"]').count(), 1);
  const asked = new Map(await namesIn(page.frameLocator("#address iframe")));
  for (const name of [
    "name",
    "country",
    "addressLine1",
    "addressLine2",
    "locality",
    "administrativeArea",
    "postalCode",
  ])
    assert.ok(asked.has(name), name);
  await fillPayment(page, authenticated);
  const confirmed = page.evaluate(() => stripe.confirmPayment({ elements, redirect: "if_required" }));
  assert.equal((await confirmed).error.type, "validation_error", "the address is missing");
  await page.evaluate(() => {
    elements.getElement("address").destroy();
    elements.getElement("linkAuthentication").destroy();
  });
  const paid = page.evaluate(() => stripe.confirmPayment({ elements, redirect: "if_required" }));
  const bank = page.locator('body > iframe[name^="__privateStripeFrame"]').last();
  await bank.contentFrame().locator('iframe#challengeFrame[name="stripe-challenge-frame"]').waitFor();
  await bankFrame(page).locator("#test-source-fail-3ds").waitFor();
  await bankFrame(page).locator("#test-source-authorize-3ds").click();
  assert.equal((await paid).paymentIntent.status, "succeeded");
  const split = await opened("v3");
  await mounted(split, {}, [["card", "#card"]]);
  assert.deepEqual([...new Map(await namesIn(cardFrame(split))).keys()], ["cardnumber", "exp-date", "cvc", "postal"]);
});

test("the Payment Element saves a card with confirmSetup", async () => {
  const setup = await demo.post("/v1/setup_intents", { "automatic_payment_methods[enabled]": "true" }),
    page = await opened("clover");
  await mounted(page, { clientSecret: setup.client_secret }, [["payment", "#payment"]]);
  await fillPayment(page, declined);
  const confirm = (more) =>
    page.evaluate(
      (given) =>
        stripe.confirmSetup({ elements, confirmParams: { return_url: `${location.origin}/return.html` }, ...given }),
      more,
    );
  assert.equal((await confirm({})).error.code, "card_declined");
  await fillPayment(page, visa);
  await page.evaluate(() => {
    stripe.confirmSetup({ elements, confirmParams: { return_url: `${location.origin}/return.html` } });
  });
  await page.waitForURL(
    new RegExp(
      `/return\\.html\\?setup_intent=${setup.id}&setup_intent_client_secret=seti_\\w+&redirect_status=succeeded`,
    ),
  );
  assert.equal((await demo.get(`/v1/setup_intents/${setup.id}`)).status, "succeeded");
});

for (const [train, init] of [
  [
    "basil",
    async (clientSecret) => {
      window.checkout = window.actions = await stripe.initCheckout({ fetchClientSecret: async () => clientSecret });
    },
  ],
  [
    "clover",
    async (clientSecret) => {
      window.checkout = stripe.initCheckout({ clientSecret });
      window.actions = (await checkout.loadActions()).actions;
    },
  ],
  [
    "endive",
    async (clientSecret) => {
      window.checkout = stripe.initCheckoutElementsSdk({ clientSecret });
      window.actions = (await checkout.loadActions()).actions;
    },
  ],
]) {
  test(`a checkout takes every action of its functions, in ${train}`, async () => {
    const session = await sessionFor({ ui_mode: "elements" }),
      page = await opened(train);
    await page.evaluate(init, session.client_secret);
    await page.evaluate(() => {
      window.told = [];
      checkout.on("change", (session) => told.push(session.email));
      checkout.createPaymentElement().mount("#payment");
    });
    const act = async (name, ...given) => page.evaluate(([name, given]) => actions[name](...given), [name, given]);
    assert.deepEqual(await act("updateEmail", ""), {
      type: "error",
      error: { code: "incompleteEmail", message: "Your email is incomplete." },
    });
    assert.equal((await act("updateEmail", "jenny")).error.code, "invalidEmail");
    assert.equal((await act("confirm")).error.code, "incompleteEmail");
    const known = (await act("updateEmail", "jenny@example.com")).session;
    assert.deepEqual(
      [
        known.email,
        known.status,
        known.minorUnitsAmountDivisor,
        known.total.total,
        known.lineItems[0].name,
        known.livemode,
      ],
      ["jenny@example.com", { type: "open" }, 100, { minorUnitsAmount: 2000, amount: "$20.00" }, "T-shirt", false],
    );
    assert.deepEqual(await page.evaluate(() => told), ["jenny@example.com"]);
    assert.equal((await act("updatePhoneNumber", "+15555550100")).session.phoneNumber, "+15555550100");
    const home = {
      name: "Jenny Rosen",
      address: { line1: "123 Main St", city: "San Francisco", state: "CA", postal_code: "94111", country: "US" },
    };
    assert.deepEqual((await act("updateBillingAddress", home)).session.billingAddress, home);
    assert.deepEqual((await act("updateShippingAddress", home)).session.shippingAddress, home);
    assert.equal(
      await page.evaluate(async () => {
        let ran = false;
        const { type } = await actions.runServerUpdate(async () => {
          ran = true;
        });
        return `${type} ${ran}`;
      }),
      "success true",
    );
    assert.equal((await act("validateElements")).type, "error");
    assert.match((await act("updateTaxIdInfo", {})).error.message, /not available/);
    await page.evaluate(() => {
      checkout.changeAppearance({ variables: { colorText: "rgb(1, 2, 3)" } });
      checkout.loadFonts([]);
    });
    await until(() =>
      paymentFrame(page)
        .locator("html")
        .evaluate((e) => getComputedStyle(e).getPropertyValue("--colorText") === "rgb(1, 2, 3)"),
    );
    await fillPayment(page, declined);
    assert.equal((await act("validateElements")).type, "success");
    assert.deepEqual(await act("confirm"), {
      type: "error",
      error: {
        code: "paymentFailed",
        message: "Your card was declined.",
        paymentFailed: { declineCode: "generic_decline" },
      },
    });
    const failed = await page.evaluate(() => (actions.getSession ?? actions.session).call(actions));
    assert.equal(failed.lastPaymentError.message, "Your card was declined.");
    await fillPayment(page, visa);
    const { session: paid } = await act("confirm", { redirect: "if_required" });
    assert.deepEqual(paid.status, { type: "complete", paymentStatus: "paid" });
    const { payment_status: status, customer_details: who } = await demo.get(`/v1/checkout/sessions/${session.id}`);
    assert.deepEqual([status, who.email, who.phone], ["paid", "jenny@example.com", "+15555550100"]);
  });
}

for (const [train, name] of [
  ["basil", "initEmbeddedCheckout"],
  ["endive", "createEmbeddedCheckoutPage"],
]) {
  test(`an embedded page calls onComplete, and is unmounted and destroyed, in ${train}`, async () => {
    const session = await sessionFor({
        ui_mode: "embedded_page",
        redirect_on_completion: "if_required",
        customer_email: "jenny@example.com",
      }),
      page = await opened(train);
    await page.evaluate(
      async ([name, secret]) => {
        window.embedded = await stripe[name]({ clientSecret: secret, onComplete: () => seen.push("complete") });
        embedded.mount("#other");
        embedded.unmount();
        embedded.mount("#other");
      },
      [name, session.client_secret],
    );
    const frame = page.frameLocator('iframe[name^="embedded-checkout"]');
    for (const [field, text] of Object.entries({
      cardNumber: visa,
      cardExpiry: "12 / 34",
      cardCvc: "123",
      billingName: "Jenny Rosen",
      billingPostalCode: "94107",
    }))
      await frame.locator(`#${field}`).fill(text);
    await frame.getByTestId("hosted-payment-submit-button").click();
    await until(() => page.evaluate(() => seen.includes("complete")));
    assert.equal((await demo.get(`/v1/checkout/sessions/${session.id}`)).payment_status, "paid");
    assert.match(
      await page.evaluate(() => {
        embedded.destroy();
        try {
          embedded.mount("#other");
        } catch (e) {
          return e.message;
        }
      }),
      /already been destroyed/,
    );
    assert.equal(await page.locator("#other iframe").count(), 0);
  });
}
