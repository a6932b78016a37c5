// Runs Stripe's samples: their pages and their Node servers, from checkouts in a folder.
//
//	node samples.mjs DIR [TABLE]
//
// DIR has accept-a-payment and checkout-one-time-payments. Nothing of them is changed but the address
// of the script. What their servers send to api.stripe.com goes to a demo. The results go into TABLE.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { launch } from "./browser.mjs";
import { startDemo, until } from "./demo.mjs";
import { bankFrame, fillCard, fillPayment, paymentFrame } from "./merchant.mjs";

const [dir, table] = process.argv.slice(2);
const site = "http://localhost:4242", cards = { pay: "4242424242424242", decline: "4000000000000002", authenticate: "4000000000003220", kill: "4242424242424242" };
const patience = { timeout: 60_000 };

const hosted = {
  open: async (page) => { await page.goto(site); await page.locator("#submit").click(); await page.locator("#cardNumber").waitFor(); },
  fill: async (page, number) => {
    for (const [field, text] of Object.entries({ email: "test@example.com", cardNumber: number, cardExpiry: "12 / 33", cardCvc: "123", billingName: "James McGill", billingPostalCode: "10000" })) await page.fill(`#${field}`, text);
  },
  press: (page) => page.getByTestId("hosted-payment-submit-button").click(),
  bank: (page) => page.frameLocator('iframe[name^="__privateStripeFrame"]').frameLocator("#challengeFrame"),
  paid: (page) => page.getByText("Your payment succeeded").waitFor(patience),
};
const samples = {
  "payment-element": {
    in: "accept-a-payment/payment-element",
    open: async (page) => { await page.goto(site); await paymentFrame(page).locator('[name="number"]').waitFor(); }, fill: fillPayment,
    press: (page) => page.getByRole("button", { name: "Pay now" }).click(), paid: (page) => page.getByText(/Payment succeeded/).waitFor(patience),
  },
  "custom-payment-flow": {
    in: "accept-a-payment/custom-payment-flow",
    open: async (page) => { await page.goto(`${site}/card.html`); await page.locator(".StripeElement iframe").waitFor(); }, fill: fillCard,
    press: (page) => page.locator("#submit").click(), paid: (page) => page.getByText(/Payment succeeded/).waitFor(patience),
  },
  "elements-with-checkout-sessions": {
    in: "accept-a-payment/elements-with-checkout-sessions",
    open: async (page) => {
      await page.goto(site);
      await page.frameLocator('iframe[title="Secure currency selector"]').getByText("USD").waitFor();
      const frame = page.frameLocator('iframe[title="Secure address input frame"]');
      for (const [field, text] of Object.entries({ name: "Jenny Rosen", addressLine1: "123 Main St", locality: "San Francisco", postalCode: "94111" })) await frame.locator(`[name="${field}"]`).fill(text);
      await frame.locator('[name="administrativeArea"]').selectOption("California");
    },
    fill: async (page, number) => {
      const frame = paymentFrame(page);
      await frame.locator('[data-value="card"]').click();
      for (const [field, text] of Object.entries({ number, expiry: "12 / 33", cvc: "123" })) await frame.locator(`[name="${field}"]`).fill(text);
    },
    press: (page) => page.locator("#submit").click(), paid: (page) => page.getByText("Payment succeeded").waitFor(patience),
  },
  "prebuilt-checkout-page": { in: "accept-a-payment/prebuilt-checkout-page", ...hosted },
  "checkout-one-time-payments": { in: "checkout-one-time-payments", ...hosted },
};

// What the end-to-end tests of the samples do, step by step (spec/*_e2e_spec.rb of each repository).
const billing = async (page) => {
  await page.locator('[data-testid="card-accordion-item"]').click();
  await page.fill("#cardNumber", cards.pay);
  await page.fill("#cardExpiry", "12 / 33");
  await page.getByLabel("CVC").fill("123");
  await page.fill("#billingName", "James McGill");
  await page.selectOption("#billingCountry", { label: "United States" });
  await page.fill("#billingPostalCode", "10000");
};
const specs = {
  "payment-element": {
    spec: async (page) => {
      await page.goto(site);
      await page.locator('form iframe[title*="payment input"][src*="elements-inner-payment"]').first().waitFor(patience);
      const card = page.frameLocator('form iframe[title*="payment input"][src*="elements-inner-payment"]').first();
      await card.locator('[data-testid="card"], [data-value="card"]').click();
      for (const [field, text] of Object.entries({ number: cards.pay, expiry: "12 / 33", cvc: "123", postalCode: "10000" })) await card.locator(`[name="${field}"]`).fill(text);
      await card.locator('[name="country"]').selectOption({ label: "United States" });
      await page.frameLocator('form iframe[title*="Secure email input frame"]').first().locator('[name="email"]').fill("test4b1d@example.com");
      await page.getByText("Pay now").click();
      await page.getByText("Thank you!").waitFor(patience);
      await page.getByText("Payment succeeded").waitFor(patience);
      if (await page.getByText("Pay now").count()) throw new Error("the button is still there");
    },
  },
  "custom-payment-flow": {
    spec: async (page) => {
      await page.goto(site);
      await page.getByRole("link", { name: "Card", exact: true }).click();
      const frame = page.locator('iframe[name*="__privateStripeFrame"]:visible');
      await frame.waitFor(patience);
      if (await frame.count() !== 1) throw new Error("there is more than one frame");
      const card = page.frameLocator('iframe[name*="__privateStripeFrame"]:visible');
      for (const [field, text] of Object.entries({ cardnumber: cards.pay, "exp-date": "12 / 33", cvc: "123", postal: "10000" })) await card.locator(`[name="${field}"]`).fill(text);
      await page.getByRole("button", { name: "Pay" }).click();
      await page.getByText("Payment succeeded").waitFor(patience);
    },
  },
  "elements-with-checkout-sessions": {
    spec: async (page) => {
      await page.goto(site);
      await page.locator('#payment-element iframe[title="Secure payment input frame"]').waitFor(patience);
      await page.locator('#address-element iframe[title="Secure address input frame"]').waitFor(patience);
      await page.locator('#currency-selector iframe[title="Secure currency selector"]').waitFor(patience);
      const address = page.frameLocator('#address-element iframe[title="Secure address input frame"]');
      await address.locator('[name="name"]').fill("Jenny Rosen");
      await address.locator('[name="country"]').selectOption({ label: "United States" });
      await address.locator('[name="addressLine1"]').fill("123 Main St");
      for (const key of ["Escape", "Tab"]) await address.locator('[name="addressLine1"]').press(key);
      await address.locator('[name="locality"]').fill("San Francisco");
      await address.locator('[name="administrativeArea"]').selectOption({ label: "California" });
      await address.locator('[name="postalCode"]').fill("94111");
      const card = page.frameLocator('#payment-element iframe[title="Secure payment input frame"]');
      await card.locator('[data-value="card"]').click();
      for (const [field, text] of Object.entries({ number: cards.pay, expiry: "12 / 33", cvc: "123" })) await card.locator(`[name="${field}"]`).fill(text);
      await page.locator("#submit:enabled").click(patience);
      await page.getByText("Payment succeeded").waitFor(patience);
    },
  },
  "prebuilt-checkout-page": {
    spec: async (page) => {
      await page.goto(site);
      await page.getByRole("button", { name: "Buy" }).click();
      await page.fill("#email", "test@example.com");
      await billing(page);
      await page.locator('label[for="enableStripePass"]').click();
      await page.getByRole("button", { name: /^Pay/ }).first().click();
      await page.getByText("Your payment succeeded").waitFor(patience);
      await page.getByText('"amount_total": 2000').waitFor(patience);
    },
    cancel: async (page) => {
      await page.goto(site);
      await page.getByRole("button", { name: "Buy" }).click();
      await page.locator('a[href$="/canceled.html"]').click();
      await page.getByText("Your payment was canceled").waitFor(patience);
    },
  },
  "checkout-one-time-payments": {
    spec: async (page) => {
      await page.goto(site);
      await page.getByRole("button", { name: "+" }).click();
      await page.getByRole("button", { name: "Buy" }).click();
      await page.fill("#email", "test@example.com");
      await page.getByRole("button", { name: /^Pay/ }).first().click(); // before there is a card: nothing is sent
      await billing(page);
      if (await page.isChecked("#enableStripePass")) await page.locator('label[for="enableStripePass"]').click();
      await page.getByRole("button", { name: /^Pay/ }).first().click();
      await page.getByText("Your payment succeeded").waitFor(patience);
      await page.getByText('"amount_total":').waitFor(patience);
    },
  },
};

const commit = (folder) => execFileSync("git", ["-C", folder, "rev-parse", "--short", "HEAD"]).toString().trim();

// install copies a sample, has its pages load our script, and starts its server.
async function install(name, work, demo) {
  const from = resolve(dir, samples[name].in), to = join(work, name);
  cpSync(join(from, "client/html"), join(to, "client/html"), { recursive: true });
  cpSync(join(from, "server/node"), join(to, "server/node"), { recursive: true });
  for (const file of readdirSync(join(to, "client/html")).filter((f) => f.endsWith(".html"))) {
    const at = join(to, "client/html", file);
    writeFileSync(at, readFileSync(at, "utf8").replaceAll("https://js.stripe.com", demo.base));
  }
  const server = join(to, "server/node"), env = { ...process.env, RATCHET_URL: demo.base };
  writeFileSync(join(server, ".env"), execFileSync(process.env.RATCHET_PROGRAM, ["samples", "env", name], { env }));
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--silent", "--omit=dev"], { cwd: server });
  const child = spawn("node", ["--require", resolve("samples-hook.cjs"), "server.js"], { cwd: server, env, stdio: "ignore" });
  await until(() => fetch(site).then((r) => r.ok, () => false));
  return () => new Promise((done) => { child.once("exit", done); child.kill(); });
}

const steps = {
  pay: async (page, sample) => { await sample.press(page); await sample.paid(page); },
  decline: async (page, sample) => { await sample.press(page); await page.getByText("Your card was declined").first().waitFor(patience); },
  authenticate: async (page, sample) => {
    await sample.press(page);
    await (sample.bank ?? bankFrame)(page).locator("#test-source-authorize-3ds").click(patience);
    await sample.paid(page);
  },
  kill: async (page, sample, demo) => {
    // a browser's request to the API, or the hosted page's form: the card takes its time
    await page.route(/\/confirm$/, (route) => route.continue({ headers: { ...route.request().headers(), "acquirer-fault": "slow:4000" } }), { times: 1 });
    if (sample.bank) { await page.locator(".drawer > summary").click(); await page.selectOption("#bank_fault", "slow:8000"); }
    const sent = page.waitForRequest((r) => r.method() === "POST" && r.url().startsWith(demo.base));
    await sample.press(page);
    await sent;
    await new Promise((wait) => setTimeout(wait, 1500));
    await demo.kill();
    await sample.paid(page);
  },
};

// paying fills the sample's form in before a step.
const paying = (name, step, act, demo) => async (page) => {
  await samples[name].open(page);
  await samples[name].fill(page, cards[step]);
  await act(page, samples[name], demo);
};

async function run(name, browser, demo) {
  const results = {}, ours = Object.entries(steps).map(([step, act]) => [step, paying(name, step, act, demo)]);
  for (const [step, act] of [...ours, ...Object.entries(specs[name])]) {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 1600 } })).newPage();
    await page.route(/^https:/, (route) => route.abort()); // there is no internet here
    try {
      await act(page);
      results[step] = "passed";
    } catch (problem) {
      results[step] = `failed: ${problem.message.split("\n")[0]}`;
    }
    console.log(`${name}: ${step} ${results[step]}`);
    await page.context().close();
  }
  return results;
}

if (!dir || !existsSync(dir)) throw new Error("needs a folder with checkouts: node samples.mjs DIR");
const work = mkdtempSync(join(tmpdir(), "ratchet-samples-")), demo = await startDemo(), browser = await launch();
const lines = [];
let failed = false;
try {
  for (const name of Object.keys(samples).filter((n) => existsSync(resolve(dir, samples[n].in)))) {
    const stop = await install(name, work, demo);
    const results = await run(name, browser, demo), passed = Object.values(results).filter((r) => r === "passed").length;
    await stop();
    const missing = Object.keys(results).filter((step) => results[step] !== "passed");
    failed ||= missing.length > 0;
    lines.push(`| ${samples[name].in} | ${commit(resolve(dir, samples[name].in))} | ${passed} of ${Object.keys(results).length} | ${missing.join("; ")} |`);
  }
} finally {
  await browser.close();
  await demo.stop();
  rmSync(work, { recursive: true, force: true });
}
if (table) {
  const heading = "## Stripe's samples";
  const about = `${heading}\n\nGenerated by \`make samples DIR=…\`. The pages and Node servers of stripe-samples run unchanged, except that the pages load the\nscript from Ratchet. Each pays, is declined, authenticates with 3-D Secure, and pays while the server is killed. Then\nit takes the steps of the end-to-end tests in its repository.\n\n| Sample | Commit | Passed | Missing |\n|---|---|---|---|\n`;
  const [before, old = ""] = readFileSync(table, "utf8").split(`\n${heading}`);
  const after = old.includes("\n## ") ? old.slice(old.indexOf("\n## ")) : "";
  writeFileSync(table, `${before.trimEnd()}\n\n${about}${lines.join("\n")}\n${after}`);
}
process.exitCode = failed ? 1 : 0;
