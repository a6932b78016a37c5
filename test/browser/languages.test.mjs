// The checkout in the buyer's language: a payment in German, a decline in French, and amounts as browsers write them.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { accessible, launch } from "./browser.mjs";
import { bank, button, buying, fill, poor, press, wanted } from "./buyer.mjs";
import { startDemo } from "./demo.mjs";

const shots = new URL("screenshots/", import.meta.url).pathname;
let demo, browser, buyer;

before(async () => {
  demo = await startDemo();
  browser = await launch();
  buyer = buying(demo, browser);
  mkdirSync(shots, { recursive: true });
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

test("a German browser sees German, from the form through the bank to the receipt", async () => {
  const made = await buyer.session();
  const page = await buyer.visit(made, { locale: "de-DE" });
  assert.equal(await page.getAttribute("html", "lang"), "de");
  assert.equal(await page.inputValue("#billingCountry"), "DE");
  assert.match(await button(page).innerText(), /^30,00\s\$ bezahlen/);
  await page.fill("#cardNumber", "4242");
  await press(page);
  await page.locator("#verdict", { hasText: "Die Kartennummer ist unvollständig." }).waitFor();
  await accessible(page);
  await page.screenshot({ path: `${shots}checkout-de.png`, fullPage: true });
  await page.selectOption("#billingCountry", "US");
  await fill(page, wanted);
  await press(page);
  await bank(page).getByRole("button", { name: "Authentifizierung abschließen" }).click();
  await buyer.arrives(page, made.id);
  assert.equal((await buyer.chargesOf(made.id)).length, 1);
  await page.goBack();
  await page.getByRole("heading", { name: "Bezahlt" }).waitFor();
  assert.match(await page.locator(".receipt").innerText(), /30,00\s\$[\s\S]*Visa mit Endziffern 3220/);
  assert.deepEqual(page.complaints, []);
});

test("a session in French says in French why a card was declined, with and without JavaScript", async () => {
  for (const javaScriptEnabled of [true, false]) {
    const page = await buyer.visit(await buyer.session({ locale: "fr" }), { javaScriptEnabled, viewport: { width: 360, height: 800 }, colorScheme: "dark" });
    await fill(page, poor);
    await press(page);
    await page.locator("#verdict", { hasText: "Votre carte ne dispose pas de fonds suffisants." }).waitFor();
    await page.screenshot({ path: `${shots}checkout-fr-${javaScriptEnabled ? "script" : "plain"}.png`, fullPage: true });
  }
});

test("amounts are written as Intl.NumberFormat writes them", async () => {
  for (const locale of ["en", "de", "fr", "es", "it", "ja"]) {
    for (const [currency, amount] of [["usd", 123450], ["eur", 1234567], ["jpy", 12345], ["kwd", 12340]]) {
      const made = await buyer.session({ locale, "line_items[0][quantity]": 1, "line_items[0][price_data][currency]": currency, "line_items[0][price_data][unit_amount]": amount });
      const text = await fetch(made.url).then((r) => r.text());
      const digits = { jpy: 0, kwd: 3 }[currency] ?? 2;
      const want = new Intl.NumberFormat(locale, { style: "currency", currency }).format(amount / 10 ** digits);
      assert.match(text, new RegExp(`data-shipping="total">${want.replace(/[$.]/g, "\\$&")}<`), `${locale} ${currency}`);
      assert.ok(text.includes(`<html lang="${locale}"`));
    }
  }
});
