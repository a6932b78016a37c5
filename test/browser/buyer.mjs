// A buyer at the hosted checkout page: the session he is sent to, the form he
// fills in, his bank, and what the API says came of it.
import assert from "node:assert/strict";
import { watched } from "./browser.mjs";

// The published test numbers.
export const visa = "4242424242424242", amex = "378282246310005", declined = "4000000000000002", poor = "4000000000009995", wanted = "4000000000003220";

export const button = (page) => page.getByTestId("hosted-payment-submit-button");
export const press = (page) => button(page).click();
export const bank = (page) => page.frameLocator('iframe[name^="__privateStripeFrame"]').frameLocator("#challengeFrame");

export async function fill(page, number, cvc = "123") {
  await page.fill("#email", "jenny@example.com");
  await page.fill("#cardNumber", number);
  await page.fill("#cardExpiry", "12 / 34");
  await page.fill("#cardCvc", cvc);
  await page.fill("#billingName", "Jenny Rosen");
  await page.fill("#billingPostalCode", "94107");
}

// breaks chooses in the drawer what goes wrong while the card is charged.
export async function breaks(page, fault) {
  await page.locator(".drawer > summary").click();
  await page.selectOption("#bank_fault", fault);
}

// buying is what a buyer can do in a demo with a browser.
export function buying(demo, browser) {
  // A shop that is part of the demo's own address: no browser here reaches another.
  const shop = `${demo.base}/docs/simulated`;
  return {
    session: (more = {}, visit = crypto.randomUUID()) => demo.post("/v1/checkout/sessions", {
      mode: "payment", client_reference_id: visit, "payment_intent_data[metadata][visit]": visit, success_url: `${shop}?paid={CHECKOUT_SESSION_ID}`, cancel_url: `${shop}?cart`, "line_items[0][quantity]": 2,
      "line_items[0][price_data][currency]": "usd", "line_items[0][price_data][unit_amount]": 1500, "line_items[0][price_data][product_data][name]": "Enamel mug", ...more }),
    setup: async () => demo.post("/v1/checkout/sessions", { mode: "setup", success_url: `${shop}?paid={CHECKOUT_SESSION_ID}`, cancel_url: `${shop}?cart`,
      customer: (await demo.post("/v1/customers", { email: "ada@example.com" })).id }),
    arrives: (page, id) => page.waitForURL(`${shop}?paid=${id}`, { timeout: 60_000 }),

    // intentOf is what a session's buyer has tried to pay, undefined if he has not
    // tried; the session itself does not name it before it is paid.
    async intentOf(id) {
      const { client_reference_id: visit } = await demo.get(`/v1/checkout/sessions/${id}`);
      return (await demo.get("/v1/payment_intents?limit=100")).data.find((intent) => intent.metadata.visit === visit);
    },

    // chargesOf asks the API, and not the page, how often a card was charged.
    async chargesOf(id) {
      const intent = await this.intentOf(id);
      return intent ? (await demo.get(`/v1/charges?limit=100&payment_intent=${intent.id}`)).data.filter((c) => c.paid) : [];
    },

    // stateOf is how the session stands, undefined while nobody answers.
    stateOf: async (made) => (await fetch(`${demo.base}/c/pay/${made.id}/state`).then((r) => r.json()).catch(() => ({}))).state,

    async visit(made, options = {}) {
      const context = await browser.newContext({ reducedMotion: "reduce", ...options });
      const page = await watched(context, demo.base);
      await page.goto(made.url);
      return page;
    },
  };
}
