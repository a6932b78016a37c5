import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, test } from "node:test";
import AxeBuilder from "@axe-core/playwright";
import { launch, watched } from "./browser.mjs";
import { startDemo } from "./demo.mjs";

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

const pages = { stop: "/lab", last: "/lab/7", matrix: "/lab/matrix", free: "/lab/free?fault=slow-bank&design=redis-1s&design=ratchet",
  design: "/lab/designs/redis-24h", run: "/lab/runs/naive/answer-not-recorded" };

async function violations(page) {
  const { violations } = await new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).analyze();
  return violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.html} ${n.failureSummary}`).join(" | ")}`);
}

for (const width of [1280, 360]) {
  test(`the lab's pages are in order, light and dark, ${width} pixels wide`, async (t) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, reducedMotion: "reduce" });
    const page = await watched(context, demo.base);
    for (const [name, path] of Object.entries(pages)) {
      await t.test(name, async () => {
        page.complaints.length = 0;
        assert.equal((await page.goto(demo.base + path)).status(), 200);
        for (const theme of ["light", "dark"]) {
          await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
          await page.evaluate(() => { for (const closed of document.querySelectorAll("details")) closed.open = true; });
          await page.screenshot({ path: `${shots}lab-${name}.${theme}.${width}.png` });
          assert.deepEqual(await violations(page), []);
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
        assert.deepEqual(page.complaints, []);
      });
    }
    await context.close();
  });
}

test("a newcomer predicts, is wrong, and sees that the bank has charged twice", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await page.goto(`${demo.base}/lab`);
  assert.equal(await page.locator(".lab-figure").isVisible(), false, "the answer is shown before the question is answered");
  await page.getByRole("button", { name: "1", exact: true }).click();
  assert.match(await page.locator(".lab-judgment").innerText(), /No: it is 2\. 0 of 1 right/);
  await page.locator('lab-player [data-do="last"]').click();
  assert.equal(await page.locator("[data-books]").innerText(), "1");
  assert.equal(await page.locator("[data-bank]").innerText(), "2");
  assert.match(await page.locator(".lab-why").innerText(), /only the bank's statement shows the second/);
  await page.getByRole("link", { name: "Stop 2" }).last().click();
  await page.waitForURL("**/lab/2");
  assert.deepEqual(page.complaints, []);
});

test("a run is played with the keys, no button moves, and back is forward reversed", async () => {
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  await page.goto(`${demo.base}/lab/runs/naive/answer-not-recorded`);
  const player = page.locator("lab-player"), figure = page.locator(".lab-scroll");
  const state = () => player.evaluate((p) => JSON.stringify([[...p.querySelectorAll("[data-n]")].map((e) => e.classList.contains("later")),
    p.querySelector("[data-bank]").textContent, p.querySelector("[data-books]").textContent, p.querySelector("[aria-current]")?.dataset.n]));
  const boxes = () => player.evaluate((p) => JSON.stringify([...p.querySelectorAll("button")].map((b) => { const { x, y, width, height } = b.getBoundingClientRect(); return [x, y + scrollY, width, height]; })));
  await figure.focus();
  await page.keyboard.press("Home");
  const last = Number(await player.evaluate((p) => p.last)), place = await boxes(), seen = [await state()];
  for (let n = 0; n < last; n++) {
    await page.keyboard.press("ArrowRight");
    seen.push(await state());
    assert.equal(await boxes(), place, `a button moved at step ${n + 1}`);
  }
  assert.equal(new Set(seen).size, last + 1, "a step changed nothing");
  for (let n = last; n >= 0; n--) {
    assert.equal(await state(), seen[n]);
    await page.keyboard.press("ArrowLeft");
  }
  await page.keyboard.press("End");
  assert.equal(await state(), seen[last]);
  await page.keyboard.press(" ");
  assert.equal(await state(), seen[0], "with reduced motion, Play goes to the beginning and moves nothing by itself");
  assert.deepEqual(page.complaints, []);
});

test("the log alone tells fault, death, retry and counts, in order", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false, reducedMotion: "reduce" });
  const page = await watched(context, demo.base);
  await page.goto(`${demo.base}/lab`);
  await page.locator(".lab-reveal > summary").click();
  assert.equal(await page.getByRole("button", { name: "Play" }).isVisible(), false);
  const log = await page.locator(".lab-log").innerText();
  const order = [/presses Pay/, /The bank charges the card/, /is killed \(SIGKILL\)/, /The client's connection breaks/, /retries with the same key/,
    /INSERT INTO lab_naive\.charges/, /receives 200/, /Our books say 1, the bank says 2\./].map((p) => log.search(p));
  assert.ok(order.every((at, i) => at >= 0 && (i === 0 || at > order[i - 1])), `${order}\n${log}`);
  assert.ok(log.lastIndexOf("The bank charges the card") > order[4], "the second charge comes after the retry");
  await context.close();
});

test("a run is made for real, without JavaScript, and has an address of its own that outlives the server", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await watched(context, demo.base);
  await page.goto(`${demo.base}/lab/runs/naive/answer-not-recorded`);
  await page.getByRole("button", { name: "Run it for real" }).click({ timeout: 120_000, noWaitAfter: true });
  await page.waitForURL("**/lab/live/run_*", { timeout: 120_000 });
  assert.equal(await page.locator("h1").innerText(), "Our books say 1, the bank says 2.");
  assert.match(await page.locator(".lead").innerText(), /Run for real on this machine/);
  const address = page.url();
  const again = await fetch(`${address}.ndjson`).then((r) => r.text());
  const lines = again.trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(lines[0].charged, 2);
  assert.equal(lines.filter((e) => e.kind === "charges").length, 2);
  await page.goto(`${demo.base}/lab/runs/ratchet/answer-not-recorded`);
  await page.getByRole("button", { name: "Run it for real" }).click();
  await page.waitForURL("**/lab/live/run_*", { timeout: 60_000 });
  assert.equal(await page.locator("h1").innerText(), "Our books say 1, the bank says 1.");
  await demo.kill();
  assert.equal((await fetch(address)).status, 200);
  assert.equal((await fetch(`${demo.base}/lab/live/run_none`)).status, 404);
  await context.close();
});

test("the matrix on the page is the one of the terminal", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await page.goto(`${demo.base}/lab/matrix`);
  const rows = await page.locator(".lab-matrix tbody tr").evaluateAll((all) => all.map((row) => [...row.querySelectorAll("td .mono")].map((cell) => cell.textContent)));
  assert.equal(rows.length, 12);
  assert.ok(rows.every((row) => row.length === 10 && row.at(-1) === "1 / 1"), "Ratchet is wrong in a row");
  const said = await page.locator('.lab-matrix a[href="/lab/runs/redis-24h/answer-not-recorded"]').innerText();
  assert.match(said, /1 \/ 0\s+Lost/);
});
