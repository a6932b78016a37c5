// A demo of one's own, with something in it to look at.
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function startDemo() {
  const program = process.env.RATCHET_PROGRAM;
  if (!program) throw new Error("RATCHET_PROGRAM names no binary: run this with make test-browser");
  const dir = mkdtempSync(join(tmpdir(), "ratchet-browser-"));
  chmodSync(dir, 0o755); // as root, PostgreSQL runs as somebody else, who has to get in
  const child = spawn(program, ["demo", "--addr", "127.0.0.1:0", "--data-dir", dir], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  const demo = {
    stop: () => new Promise((resolve) => {
      child.once("exit", () => { rmSync(dir, { recursive: true, force: true }); resolve(); });
      child.kill("SIGTERM");
    }),
    // says resolves when the demo has printed something.
    says: (pattern, after = 0) => new Promise((resolve, reject) => {
      const look = () => {
        const found = said.slice(after).match(pattern);
        if (found) { child.stdout.off("data", look); resolve(found); }
      };
      child.stdout.on("data", look);
      child.once("exit", () => reject(new Error(`the demo ended:\n${said}`)));
      look();
    }),
    heard: () => said.length,
  };
  child.stdout.setEncoding("utf8").on("data", (text) => { said += text; });
  demo.base = (await demo.says(/dashboard +(http:\/\/[^/\s]+)\//))[1];
  demo.pid = Number((await demo.says(/(\d+) +serve /))[1]);
  demo.shop = Number((await demo.says(/(\d+) +shop /))[1]);
  demo.post = (path, params, key = crypto.randomUUID(), trouble) => fetch(demo.base + path, {
    method: "POST", body: new URLSearchParams(params),
    headers: { authorization: "Bearer sk_test_ratchet_demo", "idempotency-key": key, ...(trouble && { "acquirer-trouble": trouble }) },
  }).then((r) => r.json());
  demo.get = (path) => fetch(demo.base + path, { headers: { authorization: "Bearer sk_test_ratchet_demo" } }).then((r) => r.json());
  return demo;
}

// furnish makes one of everything, and kills the server in the middle of a charge.
export async function furnish(demo) {
  const made = {};
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
  return made;
}

export const fetchUntil = (address, text) => until(async () => {
  const page = await fetch(address).then((r) => r.text()).catch(() => "");
  return page.includes(text) && page;
});

export async function until(condition, patience = 30_000) {
  for (const end = Date.now() + patience; Date.now() < end;) {
    const found = await condition();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`it never came true: ${condition}`);
}
