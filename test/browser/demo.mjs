// A demo of one's own, with something in it to look at.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// startDemo starts a demo; settings go into its environment.
export async function startDemo(settings = {}) {
  const program = process.env.RATCHET_PROGRAM;
  if (!program) throw new Error("RATCHET_PROGRAM names no binary: run this with make test-browser");
  const dir = mkdtempSync(join(tmpdir(), "ratchet-browser-"));
  chmodSync(dir, 0o755); // as root, PostgreSQL runs as somebody else, who has to get in
  const child = spawn(program, ["demo", "--empty", "--addr", "127.0.0.1:0", "--data-dir", dir], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, RATCHET_WEBHOOK_LOOPBACK_PORTS: "any", ...settings } });
  process.once("exit", () => child.kill("SIGTERM")); // also where a script gives up
  let said = "";
  const demo = {
    dir,
    stop: () => new Promise((resolve) => {
      child.once("exit", () => { rmSync(dir, { recursive: true, force: true }); resolve(); });
      child.kill("SIGTERM");
    }),
    // says resolves when the demo has printed something.
    says: (pattern, after = 0) => new Promise((resolve, reject) => {
      const look = () => {
        const found = said.slice(after).match(pattern);
        if (found) { child.stdout.off("data", look); child.off("exit", ended); resolve(found); }
      };
      const ended = () => reject(new Error(`the demo ended:\n${said}`));
      child.stdout.on("data", look);
      child.once("exit", ended);
      look();
    }),
    heard: () => said.length,
    // dies resolves when serve has died, is back, and answers.
    dies: async (after) => {
      await demo.says(/serve is back as (\d+)/, after);
      await until(() => fetch(`${demo.base}/favicon.ico`).then(() => true, () => false), 60_000);
    },
    // pid is the process that serves now, as the demo has said last.
    get pid() { return Number(([...said.matchAll(/serve is back as (\d+)/g)].at(-1) ?? said.match(/(\d+) +serve /))[1]); },
    kill: async () => {
      let after;
      await until(() => {
        after = said.length;
        try { return process.kill(demo.pid, "SIGKILL"); } catch { return false; } // between a death and its end
      }, 60_000);
      await demo.dies(after);
    },
  };
  child.stdout.setEncoding("utf8").on("data", (text) => { said += text; });
  demo.base = (await demo.says(/dashboard +(http:\/\/[^/\s]+)\//))[1];
  await demo.says(/(\d+) +serve /);
  demo.shop = Number((await demo.says(/(\d+) +shop /))[1]);
  demo.post = (path, params, key = crypto.randomUUID(), fault) => fetch(demo.base + path, {
    method: "POST", body: new URLSearchParams(params),
    headers: { authorization: "Bearer sk_test_ratchet_demo", "idempotency-key": key, ...(fault && { "acquirer-fault": fault }) },
  }).then((r) => r.json());
  demo.get = (path) => fetch(demo.base + path, { headers: { authorization: "Bearer sk_test_ratchet_demo" } }).then((r) => r.json());
  return demo;
}

// furnish makes one of everything, and kills the server in the middle of a charge.
export async function furnish(demo) {
  const made = await furnishWebhooks(demo);
  made.customer = await demo.post("/v1/customers", { email: "jenny@example.com", name: "Jenny Rosen", source: "tok_visa" });
  await demo.post(`/v1/customers/${made.customer.id}`, { description: "Comes on Fridays" });
  for (let i = 1; i <= 27; i++) {
    await demo.post("/v1/charges", { amount: 1000 + i * 137, currency: "usd", source: "tok_visa", description: `Order ${6000 + i}` }, `order-${6000 + i}`);
  }
  made.charge = await demo.post("/v1/charges", { amount: 4711, currency: "usd", customer: made.customer.id, description: "Card on file" });
  made.refund = await demo.post("/v1/refunds", { charge: made.charge.id, amount: 1000 });
  made.euro = await demo.post("/v1/charges", { amount: 5000, currency: "eur", source: "tok_mastercard", description: "Ein Schlitten" });
  made.yen = await demo.post("/v1/charges", { amount: 7000, currency: "jpy", source: "tok_amex" });
  made.held = await demo.post("/v1/charges", { amount: 4200, currency: "usd", source: "tok_visa", capture: "false", description: "Held for a week" });
  await demo.post("/v1/charges", { amount: 4200, currency: "usd", source: "tok_chargeDeclined" });
  Object.assign(made, await furnishIntents(demo, made.customer));
  Object.assign(made, await furnishCatalog(demo));
  const heard = demo.heard();
  const broken = demo.post("/v1/charges", { amount: 9900, currency: "usd", source: "tok_visa", description: "Survivor" }, "survivor", "slow:2500").catch(() => {});
  await fetchUntil(`${demo.base}/dashboard/idempotency?state=running`, "survivor");
  process.kill(demo.pid, "SIGKILL");
  await broken;
  await demo.says(/serve is back as (\d+)/, heard);
  made.survivor = await until(async () => {
    const charge = await demo.post("/v1/charges", { amount: 9900, currency: "usd", source: "tok_visa", description: "Survivor" }, "survivor", "slow:2500").catch(() => ({}));
    return charge.status === "succeeded" && charge;
  });
  made.dispute = await until(async () => (await demo.get("/v1/disputes?limit=1")).data?.[0]);
  made.payout = await demo.post("/v1/payouts", { amount: 1000, currency: "usd", description: "For the winter" });
  return made;
}

// furnishWebhooks makes a server that listens, and one that always breaks.
async function furnishWebhooks(demo) {
  const heard = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => { body += part; }).on("end", () => {
      heard.push({ path: request.url, id: JSON.parse(body).id, signature: request.headers["stripe-signature"] });
      response.statusCode = request.url === "/broken" ? 500 : 200;
      response.setHeader("x-answered-by", "a shop");
      response.end(request.url === "/broken" ? "<b>something broke</b>" : '{"received": true}');
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const base = `http://127.0.0.1:${server.address().port}`;
  return {
    heard, listens: base,
    endpoint: await demo.post("/v1/webhook_endpoints", { url: `${base}/hook`, "enabled_events[]": "*", description: "The shop's own server" }),
    broken: await demo.post("/v1/webhook_endpoints", { url: `${base}/broken`, "enabled_events[]": "customer.created" }),
  };
}

// furnishIntents makes payments of every state, a checkout session and a clock.
async function furnishIntents(demo, customer) {
  const intent = (more) => demo.post("/v1/payment_intents", { amount: 2500, currency: "usd", "payment_method_types[]": "card", ...more });
  const made = {};
  made.intent = await intent({ amount: 12000, description: "Two sledges", customer: customer.id });
  await demo.post(`/v1/payment_intents/${made.intent.id}/confirm`, { payment_method: "pm_card_visa_chargeDeclinedInsufficientFunds" });
  made.intent = await demo.post(`/v1/payment_intents/${made.intent.id}/confirm`, { payment_method: "pm_card_visa" });
  made.incomplete = await intent({ description: "Not paid yet" });
  made.intentHeld = await intent({ amount: 6400, capture_method: "manual", confirm: "true", payment_method: "pm_card_mastercard", description: "Held, by an intent" });
  made.declined = await intent({ description: "Declined" });
  await demo.post(`/v1/payment_intents/${made.declined.id}/confirm`, { payment_method: "pm_card_visa_chargeDeclined" });
  made.canceled = await intent({ description: "Changed his mind" });
  await demo.post(`/v1/payment_intents/${made.canceled.id}/cancel`, {});
  made.disputed = await demo.post("/v1/charges", { amount: 8800, currency: "usd", source: "tok_createDispute", description: "Never arrived" });
  made.session = await demo.post("/v1/checkout/sessions", {
    mode: "payment", success_url: "http://127.0.0.1/paid", cancel_url: "http://127.0.0.1/cart", customer_email: "jenny@example.com",
    "line_items[0][price_data][currency]": "usd", "line_items[0][price_data][unit_amount]": 1500, "line_items[0][price_data][product_data][name]": "A mug", "line_items[0][quantity]": 2,
  });
  made.clock = await demo.post("/v1/test_helpers/test_clocks", { frozen_time: Math.floor(Date.now() / 1000), name: "For the payout" });
  made.clock = await demo.post(`/v1/test_helpers/test_clocks/${made.clock.id}/advance`, { frozen_time: made.clock.frozen_time + 5 * 24 * 3600 });
  return made;
}

// furnishCatalog makes a product, and sells it with a coupon and shipping.
async function furnishCatalog(demo) {
  const product = await demo.post("/v1/products", { name: "Sledge", "default_price_data[currency]": "usd", "default_price_data[unit_amount]": 4000 });
  const coupon = await demo.post("/v1/coupons", { id: "WINTER", name: "Winter sale", percent_off: 25, duration: "once" });
  const rate = "shipping_options[0][shipping_rate_data]";
  const session = await demo.post("/v1/checkout/sessions", {
    mode: "payment", success_url: "http://127.0.0.1/paid", "line_items[0][price]": product.default_price, "line_items[0][quantity]": 1,
    "discounts[0][coupon]": coupon.id, [`${rate}[display_name]`]: "Ground shipping", [`${rate}[type]`]: "fixed_amount",
    [`${rate}[fixed_amount][amount]`]: 500, [`${rate}[fixed_amount][currency]`]: "usd",
  });
  await demo.post(`/v1/payment_pages/${session.id}/confirm`, { payment_method: "pm_card_visa", email: "jenny@example.com" });
  return { product, reduced: await demo.get(`/v1/checkout/sessions/${session.id}`) };
}

export const fetchUntil = (address, text) => until(async () => {
  const page = await fetch(address).then((r) => r.text()).catch(() => "");
  return page.includes(text) && page;
});

export async function until(condition, patience = 120_000) {
  for (const end = Date.now() + patience; Date.now() < end;) {
    const found = await condition();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`it never came true: ${condition}`);
}
