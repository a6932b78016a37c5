import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { accessible, accessibleIn, everyNth, launch, share, watched } from "./browser.mjs";
import { startDemo, until } from "./demo.mjs";

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
  design: "/lab/designs/redis-24h", run: "/lab/runs/naive/answer-not-recorded", queue: "/lab/runs/queue-table/queue-answer-not-recorded",
  inbox: "/lab/runs/inbox/queue-stopped" };

// everyPage is every kind of page, with all stops and all designs.
async function everyPage() {
  const matrix = await fetch(`${demo.base}/lab/matrix`).then((r) => r.text());
  const designs = [...matrix.matchAll(/href="(\/lab\/designs\/([^"]+))"/g)].map(([, path, name]) => [`design-${name}`, path]);
  assert.equal(designs.length, 13);
  return { ...pages, ...Object.fromEntries([2, 3, 4, 5, 6].map((n) => [`stop-${n}`, `/lab/${n}`])), ...Object.fromEntries(designs) };
}

for (const width of [1280, 360]) {
  test(`the lab's pages are in order, light and dark, ${width} pixels wide`, async (t) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, reducedMotion: "reduce" });
    const page = await watched(context, demo.base);
    for (const [name, path] of Object.entries(share(await everyPage()))) {
      await t.test(name, async () => {
        page.complaints.length = 0;
        for (const theme of pages[name] ? ["light", "dark"] : ["light"]) { // each loads the page: after a change of theme, axe may still read the old one's colors
          await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
          assert.equal((await page.goto(demo.base + path)).status(), 200);
          await page.evaluate(() => { for (const closed of document.querySelectorAll("details")) closed.open = true; });
          await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))); // with the theme's colors
          await page.screenshot({ path: `${shots}lab-${name}.${theme}.${width}.png` });
          await accessibleIn(page, theme, width);
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
        assert.deepEqual(page.complaints, []);
      });
    }
    await context.close();
  });
}

// paint loads a page with an empty cache: what it weighs, what its first paint waits for, and how long that takes from the end
// of the response on.
async function paint(path) {
  const context = await browser.newContext();
  const page = await watched(context, demo.base);
  await page.goto(demo.base + path);
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  const seen = await page.evaluate(() => {
    const [document] = performance.getEntriesByType("navigation"), loaded = performance.getEntriesByType("resource");
    const painted = performance.getEntriesByName("first-contentful-paint")[0].startTime;
    return { painted, behind: painted - document.responseEnd, weight: [document, ...loaded].reduce((sum, e) => sum + e.transferSize, 0),
      blocking: loaded.filter((e) => e.renderBlockingStatus === "blocking").map((e) => new URL(e.name).pathname.split("/").at(-1)) };
  });
  await context.close();
  return seen;
}

test("the lab's pages weigh at most 90 KB, and their first paint waits for the style sheet alone", async (t) => {
  const least = (visits, of) => Math.min(...visits.map(of));
  for (const path of Object.values(share(["/lab", "/lab/7", "/lab/matrix", "/lab/free", "/lab/runs/ratchet/stopped"]))) {
    const visits = [], empty = [];
    for (let visit = 0; visit < 5; visit++) { // in turn, so that a busy machine is busy for both
      visits.push(await paint(path));
      empty.push(await paint("/healthz"));
    }
    const { weight, blocking } = visits[0], painted = least(visits, (v) => v.painted), behind = least(visits, (v) => v.behind), none = least(empty, (v) => v.behind);
    t.diagnostic(`${path}: ${Math.round(weight / 1000)} KB, first paint after ${Math.round(painted)} ms, ${Math.round(behind)} ms behind the response (a page of one word: ${Math.round(none)} ms)`);
    assert.ok(weight > 10_000 && weight <= 90_000, `${path} weighs ${weight} bytes`);
    assert.deepEqual(blocking, ["app.css"], `the first paint of ${path} waits for more than its style sheet`);
    assert.ok(behind <= 10 * none, `${path} paints ${behind} ms behind its response, and a page of one word ${none} ms`);
  }
});

test("a run says how much time has passed, and the sandbox compares when designs ended", async () => {
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  await page.goto(`${demo.base}/lab/free?fault=slow-bank&design=redis-1s&design=redis-24h`);
  const ends = await page.locator(".lab-results tbody td:last-child").allInnerTexts();
  const seconds = ends.map((text) => Number(text.match(/^Paid after ([\d.]+) s$/)?.[1]));
  assert.ok(seconds[0] > 1 && seconds[1] > 1.8 && seconds[0] < seconds[1], `the short lock is retried before the bank answers, and the long one waits for it: ${ends}`);
  const lane = page.locator(".lab-lane").first(), clock = lane.locator("[data-clock]");
  const marks = await lane.locator(".lab-figure .at").allTextContents();
  assert.equal(marks.filter((mark) => /^1\.[89] s$/.test(mark)).length, 1, `the slow charge has no time: ${marks}`);
  assert.match(await clock.innerText(), /^2\.\d+ s$/);
  await lane.locator('[data-do="first"]').click();
  assert.equal(await clock.innerText(), "0.000 s");
  assert.equal(await lane.locator(".lab-figure .at:visible").count(), 1, "times are shown before they come");
  assert.deepEqual(page.complaints, []);
});

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
  await page.keyboard.press("Home");
  const turns = [], kind = () => page.locator(".lab-log [aria-current]").getAttribute("data-kind");
  while (await state() !== seen[last]) {
    await page.keyboard.press("Shift+ArrowRight");
    turns.push(await kind());
  }
  assert.deepEqual(turns, ["calls_bank", "charges", "killed", "cut_off", "starts", "sends", "calls_bank", "charges", "receives", "concludes"], "Shift skips what changes no story");
  assert.equal(await page.getByRole("button", { name: "Play" }).getAttribute("title"), "Key: Space");
  await page.keyboard.press(" ");
  assert.equal(await state(), seen[0], "with reduced motion, Play goes to the beginning and moves nothing by itself");
  assert.deepEqual(page.complaints, []);
});

test("a run is played slower, and dragged to any moment; a narrow figure keeps the moment in sight", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 360, height: 800 } }), demo.base);
  await page.goto(`${demo.base}/lab/runs/naive/answer-not-recorded`);
  const player = page.locator("lab-player"), speed = player.locator('[data-do="speed"]'), moment = player.getByRole("slider", { name: "Moment" });
  const last = Number(await player.evaluate((p) => p.last)), left = () => player.locator(".lab-scroll").evaluate((box) => box.scrollLeft);
  assert.equal(await moment.inputValue(), String(last));
  const end = await left();
  assert.ok(end > 0, "the end of the figure is out of sight");
  await moment.fill("3");
  assert.equal(await player.locator('.lab-log [aria-current="step"]').getAttribute("data-n"), "3");
  assert.ok(await left() < end, "the beginning of the figure is out of sight");
  assert.equal(await speed.innerText(), "1×");
  await speed.click();
  assert.equal(await speed.innerText(), "0.25×");
  await player.locator('[data-do="play"]').click();
  assert.equal(await player.evaluate((p) => p.stepTime), 4 * 7000 / (last + 1));
  await page.waitForFunction(() => Number(document.querySelector('[aria-label="Moment"]').value) >= 5);
  await player.locator('[data-do="play"]').click();
  assert.equal(await player.locator('.lab-log [aria-current="step"]').getAttribute("data-n"), await moment.inputValue());
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
    /INSERT INTO charges/, /receives 200/, /Our books say 1, the bank says 2\./].map((p) => log.search(p));
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
  assert.match(await page.locator(".lead").innerText(), /Run for real on this machine in \d+\.\d s/);
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
  assert.equal(rows.length, 24);
  assert.ok(rows.slice(0, 12).every((row) => row.length === 10 && row.at(-1) === "1 / 1"), "Ratchet is wrong in a row");
  assert.ok(rows.slice(12).every((row) => row.length === 3), "a consumer is missing in a row");
  assert.deepEqual(rows.slice(12).map((row) => row[2]).filter((cell) => cell !== "1 / 1"), ["0 / 0"], "the inbox charges all but the poison message");
  const said = await page.locator('.lab-matrix a[href="/lab/runs/redis-24h/answer-not-recorded"]').innerText();
  assert.match(said, /1 \/ 0\s+Lost/);
});

test("the code shows the line it is at, and the tables change with the run", async () => {
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  const play = async (path) => {
    await page.goto(demo.base + path);
    await page.locator(".lab-code > summary").click();
    await page.locator(".lab-scroll").focus();
    await page.keyboard.press("Home");
    const seen = { lines: new Set(), tables: new Set() };
    const last = Number(await page.locator("lab-player").evaluate((p) => p.last));
    for (let n = 0; n <= last; n++) {
      for (const text of await page.locator(".lab-source [aria-current]").allTextContents()) seen.lines.add(text.trim());
      for (const text of await page.locator(".lab-tables > div:visible").allInnerTexts()) seen.tables.add(text);
      await page.keyboard.press("ArrowRight");
    }
    return seen;
  };
  const ours = await play("/lab/runs/ratchet/stopped");
  const code = await page.locator(".lab-source").evaluate((box) => {
    const [first, second] = box.querySelectorAll("span"), now = box.scrollTop, height = second.offsetTop - first.offsetTop;
    return { height, line: parseFloat(getComputedStyle(first).lineHeight) || 0, now };
  });
  assert.ok(code.height < 1.5 * code.line, `a line of code takes ${code.height} pixels, and its text ${code.line}`);
  assert.ok(code.now > 0, "the code is not where the run has ended");
  for (const line of ["var CreateCharge = phase.Define", "charge.insert(tx)", "call.To().Authorize(", "charge.finalize(tx)", "return replyWithCharge("]) {
    assert.ok([...ours.lines].some((l) => l.includes(line)), `${line} is not marked in\n${[...ours.lines].join("\n")}`);
  }
  const seen = await play("/lab/runs/table/answer-not-recorded");
  assert.ok([...seen.lines].some((line) => line.includes("claimKey")) && [...seen.lines].some((line) => line.includes("t.bank.Charge")), [...seen.lines].join("\n"));
  assert.ok(seen.tables.size >= 1 && [...seen.tables].some((text) => text.includes("processing") && text.includes("lab_table.charges: empty")), [...seen.tables].join("\n"));
  assert.deepEqual(page.complaints, []);
});

test("k leads to the run that is killed at this moment", async () => {
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  await page.goto(`${demo.base}/lab/runs/naive/none`);
  await page.locator(".lab-scroll").focus();
  await page.keyboard.press("Home");
  while (await page.getByRole("button", { name: "Kill here" }).isDisabled()) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("k");
  await page.waitForURL("**/lab/runs/naive/before-bank");
  assert.deepEqual(page.complaints, []);
});

test("the keys 1 to 7 lead to the stops", async () => {
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  await page.goto(`${demo.base}/lab/2`);
  for (const stop of ["7", "3"]) {
    await page.locator(".lab-reveal > summary").click();
    await page.locator(".lab-scroll").first().focus();
    await page.keyboard.press(stop);
    await page.waitForURL(`**/lab/${stop}`);
  }
  assert.deepEqual(page.complaints, []);
});

test("a phone shows one lane at a time", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 360, height: 800 }, reducedMotion: "reduce" }), demo.base);
  await page.goto(`${demo.base}/lab/free?fault=slow-bank&design=redis-1s&design=ratchet`);
  assert.equal(await page.locator("lab-player:visible").count(), 1);
  await page.getByRole("button", { name: "Redis, lock of 1 s" }).click();
  assert.match(await page.locator(".lab-lane:visible h2").innerText(), /Redis, lock of 1 s/);
  await page.setViewportSize({ width: 1200, height: 800 });
  assert.equal(await page.locator("lab-player:visible").count(), 2);
  assert.deepEqual(page.complaints, []);
});

test("on a phone the sandbox shows its verdicts, and a figure that is scrolled the names of its rows", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 360, height: 800 }, reducedMotion: "reduce" }), demo.base);
  await page.goto(`${demo.base}/lab/free?fault=slow-bank&design=redis-1s&design=ratchet`);
  const results = page.locator(".lab-results"), verdicts = await results.locator(".badge").evaluateAll((all) => all.map((b) => [b.textContent, b.getBoundingClientRect().right <= innerWidth]));
  assert.deepEqual(verdicts, [["Twice", true], ["Right", true]]);
  assert.ok(await results.evaluate((table) => table.parentElement.scrollWidth <= table.parentElement.clientWidth), "the results scroll sideways");
  assert.match(await results.locator("tbody tr").first().innerText(), /Redis, lock of 1 s[\s\S]*Twice/);
  const scrolled = page.locator(".lab-lane:visible .lab-scroll");
  await scrolled.evaluate((box) => new Promise((drawn) => { box.scrollLeft = 200; requestAnimationFrame(() => requestAnimationFrame(drawn)); }));
  const names = await scrolled.evaluate((box) => [...box.querySelectorAll("text:not([class])")].map((name) => [name.textContent.replace(/\d+/, "1"), Math.abs(name.getBoundingClientRect().left - box.getBoundingClientRect().left) < 2]));
  assert.deepEqual(names, [["client", true], ["bank", true], ["process 1", true]]);
  assert.deepEqual(page.complaints, []);
});

test("with reduced motion a prediction leads to the end of the run; the lab and the tour each have a score", async () => {
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  for (const path of ["/lab", "/docs/start/01-why-it-is-hard"]) {
    await page.goto(demo.base + path);
    await page.getByRole("button", { name: "1", exact: true }).click();
    assert.match(await page.locator(".lab-judgment").innerText(), /^No: it is 2\. 0 of 1 right so far\.$/);
    assert.equal(await page.locator("[data-bank]").innerText(), "2");
    assert.match(await page.locator(".lab-log").innerText(), /is killed \(SIGKILL\)[\s\S]*Our books say 1, the bank says 2/);
  }
  for (const [stop, answer] of ["2", "1", "2", "stuck", "1", "2", "1"].entries()) {
    await page.goto(`${demo.base}/lab/${stop + 1}`);
    await page.getByRole("button", { name: answer, exact: true }).click();
  }
  assert.equal(await page.locator(".lab-judgment").innerText(), "Right. 6 of 7 right.");
  assert.deepEqual(page.complaints, []);
});

test("code is indented by whole tabs, and an icon in a row of a design's page is an icon", async () => {
  const page = await watched(await browser.newContext({ viewport: { width: 1280, height: 900 } }), demo.base);
  for (const [path, line] of [["/docs/source/internal/lab/design/naive.go", ".line"], ["/lab/runs/naive/none", ".lab-source span"]]) {
    await page.goto(demo.base + path);
    await page.evaluate(() => { for (const closed of document.querySelectorAll("details")) closed.open = true; });
    const tabs = await page.locator(line, { hasText: "return err" }).first().evaluate((it) => {
      const walk = document.createTreeWalker(it, NodeFilter.SHOW_TEXT), width = (text, at) => {
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().width;
      };
      let text;
      while ((text = walk.nextNode()) && !text.data.startsWith("\t\t")) ;
      for (let next = text; next; next = walk.nextNode()) if (/err/.test(next.data)) return [width(text, 0), width(text, 1)].map((tab) => tab / width(next, next.data.indexOf("err")));
    });
    for (const tab of tabs) assert.ok(Math.abs(tab - 4) < 0.1, `a tab is ${tabs} letters wide in ${path}`);
  }
  await page.goto(`${demo.base}/lab/designs/redis-24h`);
  const icon = await page.locator(".lab-briefs .badge svg").first().evaluate((it) => [getComputedStyle(it).borderTopWidth, getComputedStyle(it).marginTop, it.getBoundingClientRect().height <= 16]);
  assert.deepEqual(icon, ["0px", "0px", true]);
  assert.deepEqual(page.complaints, []);
});

test("one button on the first page kills both designs", async () => {
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  await page.goto(demo.base);
  const results = page.locator("lab-duel [data-result]");
  assert.equal(await results.first().isVisible(), false);
  await page.getByRole("button", { name: "Kill both after the bank has charged" }).click();
  assert.match(await results.first().innerText(), /our books say 1, the bank says 2/);
  assert.match(await results.last().innerText(), /our books say 1, the bank says 1/);
  assert.deepEqual(page.complaints, []);
});

test("a run is downloaded, changed hands, and is played again; what is no run is rejected", async () => {
  const page = await watched(await browser.newContext({ javaScriptEnabled: false }), demo.base);
  const trace = await fetch(`${demo.base}/lab/runs/inbox/queue-before-ack.ndjson`).then((r) => r.text());
  await page.goto(`${demo.base}/lab/free`);
  await page.locator("#trace").setInputFiles({ name: "run.ndjson", mimeType: "application/x-ndjson", buffer: Buffer.from(trace) });
  await page.getByRole("button", { name: "Play it" }).click({ timeout: 120_000, noWaitAfter: true });
  await page.waitForURL("**/lab/live/run_*", { timeout: 120_000 });
  assert.match(await page.locator(".lead").innerText(), /From a file: it was not run here/);
  assert.match(await page.locator(".lab-log").innerText(), /delivery 2/);
  await page.goto(`${demo.base}/lab/free`);
  await page.locator("#trace").setInputFiles({ name: "run.ndjson", mimeType: "application/x-ndjson", buffer: Buffer.from(trace.replace('"charged":1', '"charged":2')) });
  await page.getByRole("button", { name: "Play it" }).click();
  assert.match(await page.getByRole("alert").innerText(), /the bank charged 2 times, and has 1 charges/);
});

test("designs are run for real beside each other, with the switches of the sandbox", async () => {
  const page = await watched(await browser.newContext(), demo.base);
  await page.goto(`${demo.base}/lab/free?fault=slow-bank&design=redis-1s&design=ratchet`);
  await page.getByLabel("The lock in Redis lives").selectOption({ label: "10 min" });
  await page.getByRole("button", { name: "Run these for real" }).click({ timeout: 120_000, noWaitAfter: true });
  await page.waitForURL("**/lab/free?run=*", { timeout: 120_000 });
  const results = await page.locator("lab-player").evaluateAll((all) => all.map((p) => [p.querySelector("[data-books]").textContent, p.querySelector("[data-bank]").textContent]));
  assert.deepEqual(results, [["1", "1"], ["1", "1"]], "a lock that outlives the bank does not charge twice");
});

// overtaken stops the server in the middle of a charge until a worker has had time to finish it, and continues it.
async function overtaken(seconds) {
  const key = crypto.randomUUID(), stopped = demo.pid;
  const answered = demo.post("/v1/charges", { amount: "2000", currency: "usd", source: "tok_visa" }, key, "slow:3000");
  const found = () => fetch(`${demo.base}/dashboard/search?q=${key}`);
  await until(async () => (await found()).url.includes("/requests/req_"), 60_000);
  process.kill(stopped, "SIGSTOP");
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  process.kill(stopped, "SIGCONT");
  assert.equal((await answered).paid, true);
  return { key, stopped, refused: (await found().then((r) => r.text())).includes("the fence refused its commit") };
}

test("the inspector shows a process that was stopped and came back as stalled, with the fence that refused it", async () => {
  let run; // a worker takes over after a second and the bank needs three; a busy machine needs longer
  for (const seconds of [6, 15, 40]) if ((run = await overtaken(seconds)).refused) break;
  const { key, stopped, refused } = run;
  assert.ok(refused, "the fence refused nothing, or the inspector does not say so");
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  await page.goto(`${demo.base}/dashboard/search?q=${key}`);
  await page.getByRole("heading", { name: "POST /v1/charges" }).waitFor();
  await page.getByText(`Process ${stopped} had only stalled.`).waitFor();
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 900 });
    assert.equal(await page.locator(".fence:visible").count(), 1);
    await page.screenshot({ path: `${shots}inspector-stalled.${width}.png`, fullPage: true });
    await accessible(page);
  }
  assert.equal(await page.locator(".death").count(), 0, "a living process is drawn as dead");
  assert.match(await page.locator(".timeline .refused").innerText(), new RegExp(`process ${stopped} came back, and the fence refused its commit`));
  assert.deepEqual(page.complaints, []);
});

test("run all fills the matrix cell by cell, with progress, in place and without JavaScript", { timeout: 900_000, skip: everyNth > 1 && "it runs the whole matrix: make test-browser" }, async () => {
  const page = await watched(await browser.newContext({ reducedMotion: "reduce" }), demo.base);
  await page.goto(`${demo.base}/lab/matrix`);
  await page.getByRole("button", { name: "Run all of it for real" }).click({ timeout: 120_000, noWaitAfter: true });
  await page.waitForURL("**/lab/matrix/matrix_*", { timeout: 120_000 });
  const address = page.url(), cells = page.locator(".lab-matrix tbody td"), pending = page.locator(".lab-matrix tbody .muted");
  const all = await cells.count(), bar = page.getByRole("progressbar", { name: "Runs" });
  assert.equal(Number(await bar.getAttribute("max")), all, "a cell is not run, or not shown");
  await page.evaluate(() => { globalThis.sameDocument = true; });
  const still = await browser.newContext({ javaScriptEnabled: false, reducedMotion: "reduce" });
  const plain = await watched(still, demo.base);
  await plain.goto(address);
  const read = new Set(); // what the page says that reloads itself
  const seen = new Set(); // how many cells were filled when we looked
  for (let over = false; !over;) {
    over = /^All \d+ runs took/.test(await page.locator(".lab-progress p").innerText());
    const left = await pending.count();
    assert.ok(!over || left === 0, `${left} cells are empty at the end`);
    if (seen.size < 3 && !seen.has(left)) await accessible(page);
    seen.add(left);
    read.add(await plain.locator(".lab-progress p").innerText());
    await page.waitForTimeout(500);
  }
  assert.ok(seen.size >= 3, `no progress was to be seen: ${[...seen]}`);
  await plain.getByText(/^\s*All \d+ runs took/).waitFor({ timeout: 60_000 });
  assert.ok(read.size >= 2, `without JavaScript, no progress was to be seen: ${[...read]}`);
  assert.equal(await page.evaluate(() => globalThis.sameDocument), true, "the page was loaded again");
  const said = await page.locator(".lab-progress").innerText();
  assert.match(said, new RegExp(`All ${all} runs took \\d+\\.\\d s\\. \\d+ of ${all} cells came out as recorded`));
  console.log(said); // the time, on this machine
  const links = await page.locator('.lab-matrix tbody td a[href^="/lab/live/run_"]').evaluateAll((them) => them.map((a) => a.getAttribute("href")));
  assert.equal(new Set(links).size, all, "each cell is a run of its own");
  const ours = await page.locator(".lab-matrix").first().locator("tbody td:last-child .mono").allTextContents();
  assert.ok(ours.every((cell) => cell.startsWith("1 / ")), `Ratchet charged ${ours}`);
  await plain.goto(demo.base + links.at(0));
  assert.match(await plain.locator(".lead").innerText(), /Run for real on this machine in \d+\.\d s/);
  await accessible(page);
  assert.deepEqual(page.complaints, []);
  await still.close();
});
