// How people get into the dashboard: the first user, a password that must be changed, a second factor, wrong codes, and
// what each role may do.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdirSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";
import { accessibleIn, launch, watched } from "./browser.mjs";
import { startDemo } from "./demo.mjs";

const shots = new URL("screenshots/", import.meta.url).pathname;
const chosen = "correct horse battery staple";
let demo, browser, charge, ann;

before(async () => {
  demo = await startDemo();
  charge = await demo.post("/v1/charges", { amount: 4711, currency: "usd", source: "tok_visa" });
  browser = await launch();
  mkdirSync(shots, { recursive: true });
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

const open = async (path) => {
  const page = await watched(await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" }), demo.base);
  await page.goto(demo.base + path);
  return page;
};

// unexpected are a page's complaints but those that a refusal is expected to make: the browser logs its status, and that a
// page which was open when the login began to be needed, or the server was killed, gets no more news.
const unexpected = (page) => page.complaints.filter((c) => !/status of (401|403|422)|EventSource's response has a MIME type|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_(REFUSED|RESET)/.test(c));

const looks = async (page, name) => {
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${shots}${name}.${colorScheme}.${width}.png` });
      await accessibleIn(page, colorScheme, width);
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
  }
  await page.setViewportSize({ width: 1280, height: 900 });
};

// codeOf is what an authenticator app shows for a secret, so many periods of 30 seconds from now (RFC 6238).
const codeOf = (shared, periods = 0) => {
  const bits = [...shared].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + periods));
  const sum = createHmac("sha1", key).update(counter).digest();
  return String((sum.readUInt32BE(sum.at(-1) & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
};

const addUser = async (page, email, role) => {
  await page.goto(`${demo.base}/dashboard/users`);
  await page.getByLabel("Email", { exact: true }).fill(email);
  await page.locator("#role").selectOption(role);
  await page.getByRole("button", { name: "Add user" }).click();
  return (await page.getByLabel("First password").locator("code").innerText()).trim();
};

const logIn = async (page, email, password) => {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
};

// firstLogIn logs in with a first password and replaces it.
const firstLogIn = async (page, email, password) => {
  await logIn(page, email, password);
  await page.waitForURL(`${demo.base}/dashboard/account`);
  await page.getByLabel("Current password").fill(password);
  await page.getByLabel("New password").fill(chosen);
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("An administrator chose your password.").waitFor({ state: "detached" });
};

const enterCode = async (page, code) => {
  await page.getByLabel("Code").fill(code);
  await page.getByRole("button", { name: "Continue" }).click();
};

test("the first user closes the dashboard, and replaces the first password", async () => {
  const page = await open("/dashboard/users");
  const password = await addUser(page, "ann@example.com", "administer");
  do await page.goto(`${demo.base}/dashboard/payments`); // that there is no user is remembered for a second
  while (!/\/dashboard\/login/.test(page.url()));
  await looks(page, "login");
  await logIn(page, "ann@example.com", "not the password");
  await page.getByRole("alert").getByText("Incorrect email or password.").waitFor();
  assert.equal(await page.getByLabel("Email").inputValue(), "ann@example.com");
  await firstLogIn(page, "ann@example.com", password);
  await page.goto(`${demo.base}/dashboard/payments`);
  await page.getByRole("heading", { level: 1, name: "Payments" }).waitFor();
  ann = await page.context().storageState();
  assert.deepEqual(unexpected(page), []);
});

test("an app is set up as second factor, and each of its codes opens the dashboard once", async () => {
  const page = await watched(await browser.newContext({ storageState: ann, reducedMotion: "reduce" }), demo.base);
  await page.goto(`${demo.base}/dashboard/account/totp`);
  const shared = await page.locator("#shared").innerText();
  await looks(page, "totp");
  await page.getByLabel("Code that the app shows").fill(codeOf(shared, 20));
  await page.getByLabel("Your password").fill(chosen);
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("alert").getByText("That code is incorrect or expired.").waitFor();
  assert.equal(await page.locator("#shared").innerText(), shared); // the app that was scanned stays
  await page.getByLabel("Code that the app shows").fill(codeOf(shared));
  await page.getByLabel("Your password").fill(chosen);
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("heading", { name: "Recovery codes" }).waitFor();
  const recovery = await page.locator("main li.mono, main ul.mono li").allInnerTexts();
  assert.equal(recovery.length, 10);

  await page.getByRole("button", { name: "Log out" }).click();
  await page.waitForURL(/\/dashboard\/login/);
  await page.goto(`${demo.base}/dashboard/payments`);
  await logIn(page, "ann@example.com", chosen);
  await page.getByRole("heading", { name: "Enter your code" }).waitFor();
  await looks(page, "code");
  await page.goto(`${demo.base}/dashboard/payments`); // the password alone opens nothing
  await page.getByRole("heading", { level: 1, name: "Payments" }).waitFor({ timeout: 2000 }).then(() => assert.fail("open without a code"), () => {});
  await page.goto(`${demo.base}/dashboard/login/code`);
  await enterCode(page, codeOf(shared, 20));
  await page.getByRole("alert").getByText("Incorrect code.").waitFor();
  const code = codeOf(shared, 1);
  await enterCode(page, code);
  await page.getByRole("heading", { level: 1, name: "Overview" }).or(page.getByRole("heading", { level: 1, name: "Payments" })).first().waitFor();

  await page.waitForLoadState(); // what the kill interrupts would be a complaint
  await demo.kill(); // sessions are in the database
  await page.goto(`${demo.base}/dashboard/payments`);
  await page.getByRole("heading", { level: 1, name: "Payments" }).waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await logIn(page, "ann@example.com", chosen);
  await enterCode(page, code);
  await page.getByRole("alert").getByText("Incorrect code.").waitFor(); // it was used
  await enterCode(page, recovery[0]);
  await page.getByRole("button", { name: "Log out" }).waitFor();
  ann = await page.context().storageState();
  assert.deepEqual(unexpected(page), []);
});

test("people see and do what their role allows, and nothing else", async () => {
  const admin = await watched(await browser.newContext({ storageState: ann, reducedMotion: "reduce" }), demo.base);
  const first = {
    view: await addUser(admin, "vera@example.com", "view"),
    operate: await addUser(admin, "otto@example.com", "operate"),
  };
  await demo.kill(); // how many logins were tried is not
  const refund = `/dashboard/payments/${charge.id}`;
  const people = {};
  for (const [role, email] of [["view", "vera@example.com"], ["operate", "otto@example.com"]]) {
    people[role] = await open("/dashboard/login");
    await firstLogIn(people[role], email, first[role]);
    await people[role].goto(demo.base + refund);
    await people[role].getByRole("heading", { level: 1 }).waitFor();
  }
  const refundForms = (page) => page.locator("form[action*=refund]").count();
  assert.equal(await refundForms(people.view), 0);
  assert.ok((await refundForms(people.operate)) > 0);

  // The page of one who may refund shows where the form goes. Sent by one who may not, it is refused, and nothing happens.
  const action = await people.operate.locator("form[action*=refund]").first().getAttribute("action");
  const csrf = await people.view.locator("input[name=csrf]").first().inputValue();
  const answer = await people.view.evaluate(async ([path, token]) => {
    const r = await fetch(path, { method: "POST", body: new URLSearchParams({ csrf: token, amount: "1.00", key: "refused" }) });
    return [r.status, await r.text()];
  }, [action, csrf]);
  assert.equal(answer[0], 403);
  assert.match(answer[1], /Your role is “view”. This needs the role “operate”. Nothing changed./);
  assert.equal((await demo.get(`/v1/charges/${charge.id}`)).amount_refunded, 0);

  for (const role of ["view", "operate"]) {
    const page = people[role];
    const response = await page.goto(`${demo.base}/dashboard/users`);
    assert.equal(response.status(), 403, role);
    await page.getByRole("heading", { name: "You’re not allowed to do this" }).waitFor();
    assert.deepEqual(unexpected(page), []);
  }
  await admin.goto(`${demo.base}/dashboard/users`);
  await looks(admin, "users");
  await admin.getByLabel("Role of vera@example.com", { exact: true }).selectOption("operate");
  await admin.getByRole("button", { name: "Change the role of vera@example.com" }).click();
  await people.view.goto(demo.base + refund);
  assert.ok((await refundForms(people.view)) > 0); // at once, in the session that she has
  assert.deepEqual(unexpected(admin), []);
});
