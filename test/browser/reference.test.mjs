import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { everyNth, launch, share, watched } from "./browser.mjs";
import { startDemo } from "./demo.mjs";

// run ends a sample that never ends by itself.
const run = (program, args) => promisify(execFile)(program, args, { timeout: 120_000, killSignal: "SIGKILL" });
let demo, browser;

before(async () => {
  demo = await startDemo();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

test("an example of the reference runs, and leads to its own request", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await page.goto(`${demo.base}/docs/api/charges`);
  await page.locator("#charge\\.capture").getByRole("button", { name: "Run" }).click();
  await page.getByText("HTTP 200").waitFor();
  await page.getByRole("link", { name: "Inspect this request" }).click();
  await page.getByRole("heading", { name: /capture/ }).waitFor();
  assert.deepEqual(page.complaints, []);
});

// A sample makes what it names first, so it comes to the end it promises however
// often it is run.
test("every sample of the reference runs as it is, in the shell and in Node, and one in Go", async (t) => {
  const page = await watched(await browser.newContext(), demo.base), wrong = [];
  await page.goto(`${demo.base}/docs/api`);
  const resources = await page.locator('a[href^="/docs/api/"]').evaluateAll((all) => [...new Set(all.map((a) => a.pathname))]);
  let ran = 0;
  for (const path of Object.values(share(resources))) {
    await page.goto(demo.base + path);
    const samples = await page.locator(".sample").evaluateAll((all) => all.map((sample) => ({ status: sample.dataset.status,
      programs: [...sample.querySelectorAll("pre")].map((pre) => pre.textContent) })));
    for (const { status, programs: [shell, , node] } of samples) {
      const { stdout: heard } = await run("sh", ["-c", `${shell} -sS -w '\\n%{http_code}'`]);
      if (heard.slice(-3) !== status) wrong.push(`${heard}, and not ${status}: ${shell}`);
      const { stdout: printed } = await run(process.execPath, ["--input-type=module", "-e", node]);
      if (/^{\s+error: /.test(printed) !== (status !== "200")) wrong.push(`${printed}, and not ${status}: ${node}`);
      ran++;
    }
  }
  t.diagnostic(`${ran} samples`);
  assert.ok(ran > 60 / everyNth, `only ${ran}`);
  assert.deepEqual(wrong, []);

  if (everyNth > 1) return; // the program in Go is compiled with all of stripe-go
  await page.goto(`${demo.base}/docs/api/disputes`); // its chain waits for the dispute
  const program = join(await mkdtemp(join(tmpdir(), "sample-")), "main.go");
  await writeFile(program, await page.locator("#dispute\\.close .sample pre").nth(1).textContent());
  assert.equal(JSON.parse((await run("go", ["run", program])).stdout).status, "lost");
});

test("every button that makes something happen does, with the status that stands on it", async (t) => {
  const page = await watched(await browser.newContext(), demo.base), wrong = [];
  await page.goto(`${demo.base}/docs/api`);
  let pressed = 0;
  for (const path of await page.locator('a[href^="/docs/api/"]').evaluateAll((all) => [...new Set(all.map((a) => a.pathname))])) {
    for (const { id } of (await demo.get("/v1/webhook_endpoints?limit=100")).data) // an account has room for sixteen
      await fetch(`${demo.base}/v1/webhook_endpoints/${id}`, { method: "DELETE", headers: { authorization: "Bearer sk_test_ratchet_demo" } });
    await page.goto(demo.base + path);
    const buttons = await page.locator('.sample details button[name="example"]').evaluateAll((all) => all.map((button) => ({
      form: Object.fromEntries(new FormData(button.form, button)), status: button.querySelector("span").textContent })));
    for (const { form, status } of buttons) {
      const answer = await page.request.post(`${demo.base}/docs/api/run`, { form });
      const shown = (await answer.text()).match(/HTTP (\d+)/)?.[1];
      if (shown !== status) wrong.push(`${form.operation}/${form.example}: ${shown}, and not ${status}`);
      pressed++;
    }
  }
  t.diagnostic(`${pressed} buttons`);
  assert.ok(pressed > 200, `only ${pressed}`);
  assert.deepEqual(wrong, []);
});
