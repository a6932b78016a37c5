// A buyer whose payment service is killed: before he is heard, at boundaries all
// the way through, and after the card was charged. He does nothing about it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isDeepStrictEqual, promisify } from "node:util";
import { everyNth, launch, loaded, share } from "./browser.mjs";
import { bank, breaks, buying, fill, press, visa, wanted } from "./buyer.mjs";
import { startDemo, until } from "./demo.mjs";

const run = promisify(execFile);
const cvc = "847"; // of nothing else
const challenges = /\/3d_secure\//;
const record = join(mkdtempSync(join(tmpdir(), "ratchet-boundaries-")), "passed");
let demo, browser, buyer;

before(async () => {
  demo = await startDemo({ RATCHET_CRASH_TESTING: "1", RATCHET_CRASH_RECORD: record });
  browser = await launch();
  buyer = buying(demo, browser);
});
after(async () => {
  await browser?.close();
  await demo?.stop();
  rmSync(join(record, ".."), { recursive: true, force: true });
});

// crashesAt sends the page's next POST to an address with a header that ends the
// process at a boundary. Without one it passes all, and the record has their names.
async function crashesAt(page, address, boundary = "0") {
  let armed = true;
  const who = String(demo.pid); // and nobody after it: Chromium repeats a request whose connection broke, header and all
  await page.route((url) => address.test(url.pathname), (route) => {
    const request = route.request(), arm = armed && request.method() === "POST";
    if (arm) armed = false;
    return route.continue(arm ? { headers: { ...request.headers(), "ratchet-crash-at": boundary, "ratchet-crash-who": who } } : {});
  });
}

// rehearsed are the boundaries up to the answer, as the record has them.
function rehearsed() {
  const names = readFileSync(record, "utf8").trim().split("\n");
  const answered = names.indexOf("client: before writing the response");
  assert.ok(answered > 5, `${names}`);
  return names.slice(0, answered + 1);
}

// moments picks boundaries by what is said there: the first word to the
// database, the one before the acquirer is asked, and so on to the last word.
// They are asked for by name: the numbers change with what is prepared already.
function moments(names) {
  const all = {
    "at the first word to the database": "database: before",
    "before the acquirer is asked": "acquirer: before writing",
    "when the acquirer was asked": "acquirer: after writing",
    "when the acquirer has answered": "acquirer: answer read",
    "while its answer is booked": booking(names),
    "before the buyer is answered": "client: before writing the response",
  };
  return Object.entries(all).filter(([, name]) => names.some((passed) => passed.startsWith(name)));
}

// booking is a statement half way between the acquirer's answer, if there is one,
// and ours, and is not run before.
function booking(names) {
  const acted = names.indexOf("acquirer: answer read") + 1, runs = names.filter((name, i) => i >= acted && name.startsWith("database: before execute ") && names.indexOf(name) === i);
  assert.ok(runs.length > 2, `${names}`);
  return runs[Math.floor(runs.length / 2)];
}

async function settled(page, made) {
  await buyer.arrives(page, made.id);
  assert.equal((await buyer.chargesOf(made.id)).length, 1, "charges");
  await page.goBack();
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  assert.equal(await page.locator("#payment").count(), 0, "a second form");
  await page.reload();
  await page.getByRole("heading", { name: "Paid" }).waitFor();
}

test("killed at every kind of boundary while a card is charged: the buyer arrives, charged once", async (t) => {
  const pays = async (boundary) => {
    const made = await buyer.session(), page = await buyer.visit(made);
    await fill(page, visa, cvc);
    await crashesAt(page, /^\/c\/pay\/cs_test_\w+$/, boundary);
    const heard = demo.heard();
    await press(page);
    if (boundary) await demo.dies(heard);
    await settled(page, made);
    await page.context().close();
  };
  await pays();
  const all = moments(rehearsed());
  assert.equal(all.length, 6, `${all}`);
  for (const [moment, boundary] of Object.values(share(all))) await t.test(moment, () => pays(boundary));
});

test("killed before the buyer is heard, and after the card was charged but nobody heard of it", async (t) => {
  await t.test("before the buyer is heard", async () => {
    const made = await buyer.session();
    const page = await buyer.visit(made);
    await fill(page, visa, cvc);
    const back = demo.kill();
    await press(page);
    await back;
    await settled(page, made);
    await page.context().close();
  });
  await t.test("the answer of the acquirer is lost, and then serve", async () => {
    const made = await buyer.session();
    const page = await buyer.visit(made);
    await fill(page, visa, cvc);
    await breaks(page, "drop_after_acting");
    await press(page);
    await until(async () => (await buyer.stateOf(made)) !== "open", 60_000);
    await demo.kill();
    await settled(page, made);
    await page.context().close();
  });
});

test("killed while the card is charged, and the buyer reloads: he is waited for, and sees no second form", async () => {
  const made = await buyer.session();
  const page = await buyer.visit(made);
  await fill(page, visa, cvc);
  await breaks(page, "slow:8000");
  await press(page);
  await until(async () => (await buyer.stateOf(made)) === "processing", 60_000);
  await demo.kill();
  await until(() => page.reload().catch(() => undefined), 60_000);
  assert.equal(await page.locator("#payment").count(), 0, "a second form");
  await Promise.race([buyer.arrives(page, made.id), page.getByRole("heading", { name: "Paid" }).waitFor({ timeout: 60_000 })]);
  await page.goto(made.url);
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  assert.equal((await buyer.chargesOf(made.id)).length, 1);
  await page.context().close();
});

test("killed while the bank's answer is taken: one press is enough, and one charge", async (t) => {
  const agrees = async (boundary) => {
    const made = await buyer.session(), page = await buyer.visit(made);
    await fill(page, wanted, cvc);
    await press(page);
    await bank(page).locator("#test-source-authorize-3ds").waitFor();
    await loaded(bank(page));
    await crashesAt(page, challenges, boundary);
    const heard = demo.heard();
    await bank(page).locator("#test-source-authorize-3ds").click();
    if (boundary) await demo.dies(heard);
    await settled(page, made);
    await page.context().close();
  };
  await agrees();
  for (const [moment, boundary] of Object.values(share(moments(rehearsed())))) await t.test(moment, () => agrees(boundary));
});

// drawn are the totals of the T-accounts as the page writes them, in cents.
async function drawn(page) {
  const all = await page.locator(".t").evaluateAll((ts) => ts.map((t) => [t.getAttribute("aria-label"), ...[...t.querySelectorAll(".t-sum span")].map((sum) => sum.innerText)]));
  return Object.fromEntries(all.map(([name, ...sums]) => [name.replaceAll(" ", "_"), sums.map((sum) => Number(sum.replace(/\D/g, "")))]));
}

// everything is a whole list of the API's.
async function everything(path) {
  const all = [];
  for (let page = { has_more: true }; page.has_more; all.push(...page.data)) page = await demo.get(`${path}?limit=100${all.length ? `&starting_after=${all.at(-1).id}` : ""}`);
  return all.filter((one) => one.currency === "usd");
}

// told are the same totals as others know them, debits and credits. The API tells
// of the merchant's balance, of our fees, and of what was taken from and given back
// to cards, which is what the acquirer owes. What the acquirer has paid, and what
// has left for the merchant's bank, no merchant's API shows whole: that is read
// from the legs in the database.
async function told() {
  const sum = (all) => all.reduce((total, n) => total + n, 0), total = (all, field) => sum(all.map((one) => one[field]));
  const books = Object.fromEntries((await ask(settings().RATCHET_DATABASE_URL, `
    SELECT a.account, sum(l.amount) FILTER (WHERE l.debit = a.account), sum(l.amount) FILTER (WHERE l.credit = a.account)
    FROM ledger_legs l JOIN ledger_books b ON b.id = l.book_id AND b.account_id = 'acct_demo' AND NOT b.livemode AND b.currency = 'usd', unnest(ARRAY[l.debit, l.credit]) a (account)
    GROUP BY a.account`)).trim().split("\n").map((row) => row.split("|")).map(([account, ...sums]) => [account, sums.map(Number)]));
  const [moved, charges, refunds, balance] = [await everything("/v1/balance_transactions"), await everything("/v1/charges"), await everything("/v1/refunds"), await demo.get("/v1/balance")];
  const fees = total(moved, "fee"), gross = moved.map((one) => one.amount);
  books.merchant_balance = [fees - sum(gross.filter((n) => n < 0)), sum(gross.filter((n) => n > 0))];
  books.fee_revenue = [0, fees];
  const [paid, fetched] = books.bank_cash ?? [0, 0];
  books.processor_receivable = [total(charges, "amount_captured") + fetched, total(refunds, "amount") + paid];
  const [debits, credits] = books.merchant_balance, halves = [...balance.available, ...balance.pending].filter((half) => half.currency === "usd");
  assert.equal(total(halves, "amount"), credits - debits, "the balance, and what it came from");
  return books;
}

test("the trial balance on the page stays level while money moves and serve is killed, and every T says what the API says", async () => {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${demo.base}/dashboard/ledger`);
  const level = async () => {
    const said = await page.locator(".trial .diff").innerText();
    assert.match(said, /difference\s+0$/);
  };
  // at rest: nothing is under way, and the page hears of the last of it by itself.
  const same = async () => {
    let here, there;
    await until(async () => isDeepStrictEqual(here = await drawn(page), there = await told())).catch(() => {});
    assert.deepEqual(here, there);
  };
  const charges = [];
  const once = async (path, params) => {
    const key = crypto.randomUUID();
    return until(() => demo.post(path, params, key).then((answer) => answer.id && answer).catch(() => undefined), 60_000);
  };
  let seed = 11;
  const dice = (sides) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % sides; };
  for (let i = 0; i < 200 / everyNth; i++) {
    const kill = i % 10 === 7 ? demo.kill() : undefined;
    if (dice(3) === 0 && charges.length > 0) await once("/v1/refunds", { charge: charges[dice(charges.length)].id, amount: 10 });
    else charges.push(await once("/v1/charges", { amount: 1000 + dice(5000), currency: "usd", source: "tok_visa" }));
    await kill;
    await level();
    if (i % 40 === 39) await same();
  }
  await page.reload();
  await level();
  await same();
  await page.context().close();
});

test("no card number, security code or key is in a log, a table, an address or a merchant's page", async () => {
  const context = await browser.newContext({ reducedMotion: "reduce" });
  const page = await context.newPage(), visited = [];
  page.on("request", (request) => visited.push(request.url()));
  const made = await buyer.session();
  await page.goto(made.url);
  await fill(page, visa, cvc);
  await press(page);
  await buyer.arrives(page, made.id);
  await page.goto(made.url);
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  await page.goto(`${demo.base}/shop`);
  const shop = await page.content(), receipt = (await page.goto(made.url), await page.content());
  const secrets = [visa, visa.replace(/(.{4})(?=.)/g, "$1 "), "sk_test_ratchet"]; // a key that is masked says sk_test_rat*****demo
  for (const secret of secrets) {
    for (const url of visited) assert.ok(!decodeURIComponent(url).includes(secret), `${secret} is in ${url}`);
    assert.ok(!receipt.includes(secret), `${secret} is on the receipt`);
  }
  assert.ok(!shop.includes("sk_test_"), "the shop shows its key"); // which test card to try is printed there on purpose
  assert.ok(!visited.some((url) => new URL(url).search.includes(cvc)));
  const logs = readdirSync(join(demo.dir, "logs"));
  assert.ok(logs.length >= 3, `${logs}`);
  const named = new RegExp(`(cvc|CVC|card_?[cC]vc)\\W{1,6}${cvc}\\b`);
  for (const log of logs) {
    const text = readFileSync(join(demo.dir, "logs", log), "utf8");
    for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} is in the log ${log}`);
    assert.ok(!named.test(text), `a security code is in the log ${log}`);
  }
  for (const database of [settings().RATCHET_DATABASE_URL, settings().RATCHET_ACQUIRER_DATABASE_URL]) {
    const dump = await dumped(database);
    assert.ok(dump.length > 1000, `nothing was dumped of ${database}`);
    for (const secret of secrets) assert.ok(!dump.includes(secret), `${secret} is in a table: ${around(dump, secret)}`);
    assert.ok(!named.test(dump), `a security code is in a table: ${dump.match(named)?.[0]}`);
  }
  await context.close();
});

const around = (text, secret) => text.slice(Math.max(0, text.indexOf(secret) - 200), text.indexOf(secret) + 60);

// settings are those of the demo, its databases' addresses among them.
const settings = () => Object.fromEntries(readFileSync(join(demo.dir, "env"), "utf8").trim().split("\n").map((line) => line.match(/^(\w+)='(.*)'$/).slice(1)));

const ask = async (database, sql) => (await run("psql", ["-XAtq", "-d", database, "-c", sql], { maxBuffer: 1 << 30 })).stdout;

// dumped is every row of every table of a database, as text.
async function dumped(database) {
  const tables = (await ask(database, "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')")).trim().split("\n");
  return (await Promise.all(tables.map((table) => ask(database, `SELECT t::text FROM ${table} t`)))).join("\n");
}
