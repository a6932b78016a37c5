// The card number's field in a real browser: what is typed, deleted and pasted, and the value, the caret and the brand
// that come of it. It needs no demo.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { launch } from "./browser.mjs";

const origin = "http://card.test/", left = "ArrowLeft", right = "ArrowRight", back = "Backspace", del = "Delete", home = "Home", end = "End";
const times = (n, key) => Array(n).fill(key), visa = "4242424242424242", grouped = "4242 4242 4242 4242";
const paste = (text) => ({ text });

// Each: the keys, then the value with | for the caret, then the brand. A word is a key, and digits are typed one by one.
const scripts = [
  // typing
  [["4"], "4|", "Visa"], [["4242"], "4242|", "Visa"], [["42424"], "4242 4|", "Visa"], [[visa], `${grouped}|`, "Visa"],
  [["4242 4242 4242 4242"], `${grouped}|`, "Visa"], [["4242-4242-4242-4242"], `${grouped}|`, "Visa"], [["4242.4242"], "4242 4242|", "Visa"],
  [["abc4242xyz"], "4242|", "Visa"], [["x"], "|", ""], [["378282246310005"], "3782 822463 10005|", "Amex"], [["3782822463100059"], "3782 822463 10005|", "Amex"],
  [["5555555555554444"], "5555 5555 5555 4444|", "Mastercard"], [["2221000000000009"], "2221 0000 0000 0009|", "Mastercard"], [["6011111111111117"], "6011 1111 1111 1117|", "Discover"],
  [["36227206271667"], "3622 720627 1667|", "Diners Club"], [["3566002020360505"], "3566 0020 2036 0505|", "JCB"],
  // typing in the middle
  [["4242", home, "5"], "5|424 2", "Mastercard"], [["4444", left, left, "2"], "442|4 4", "Visa"], [["42424242", ...times(5, left), "1"], "4242 1|424 2", "Visa"],
  [["424242424242424", home, right, "1"], "41|24 2424 2424 2424", "Visa"],
  // deleting
  [["4242", back], "424|", "Visa"], [["42424", back], "4242|", "Visa"], [["4", back], "|", ""], [["42424242", ...times(8, back)], "|", ""],
  [["42425678", ...times(4, left), back], "424|5 678", "Visa"], [["42425678", ...times(5, left), del], "4242| 678", "Visa"],
  [["42425678", home, del], "|2425 678", "Mastercard"], [["42425678", home, ...times(2, del)], "|4256 78", "Visa"], [["5", back, "4"], "4|", "Visa"],
  [["42425678", left, left, back], "4242 5|78", "Visa"], [["378282246310005", back], "3782 822463 1000|", "Amex"], [["37828", ...times(5, back), "42424"], "4242 4|", "Visa"],
  // pasting
  [[paste(visa)], `${grouped}|`, "Visa"], [[paste("4242 4242 4242 4242")], `${grouped}|`, "Visa"], [[paste("4242-4242-4242-4242")], `${grouped}|`, "Visa"],
  [[paste("card: 4242 4242")], "4242 4242|", "Visa"], [[paste("378282246310005")], "3782 822463 10005|", "Amex"], [["42", paste("42424242424242")], `${grouped}|`, "Visa"],
  [[visa, "Control+a", paste("5555555555554444")], "5555 5555 5555 4444|", "Mastercard"], [["4242", "Control+a", back], "|", ""],
  [["5555", home, paste("4242")], "4242| 5555", "Visa"], [["42424242", home, "Shift+ArrowRight", "5", end], "5242 4242|", "Mastercard"],
];

let browser, page;
before(async () => {
  browser = await launch();
  page = await (await browser.newContext()).newPage();
  await page.route(`${origin}**`, (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    if (name) return route.fulfill({ contentType: "text/javascript", body: readFileSync(new URL(`../../web/static/${name}`, import.meta.url)) });
    return route.fulfill({ contentType: "text/html", body: '<input id="number"><output id="brand"></output><script type="module">import { bindNumber } from "/card-input.js"; bindNumber(number, (it) => { brand.value = it.word; }); document.title = "bound";</script>' });
  });
});
after(() => browser?.close());

const perform = (it) => {
  if (it.text) return page.keyboard.insertText(it.text);
  return /^[A-Z]/.test(it) ? page.keyboard.press(it) : page.keyboard.type(it);
};

test("there are forty scripts at least", () => assert.ok(scripts.length >= 40, `${scripts.length}`));

for (const [keys, wanted, brand] of scripts) {
  test(`${keys.map((it) => (it.text ? `paste ${it.text}` : it)).join(", ")} gives ${wanted}`, async () => {
    await page.goto(origin);
    await page.waitForFunction(() => document.title === "bound");
    await page.focus("#number");
    for (const key of keys) await perform(key);
    const seen = await page.evaluate(() => { const it = document.querySelector("#number"); return { text: it.value, at: it.selectionStart, to: it.selectionEnd, brand: document.querySelector("#brand").value }; });
    assert.equal(`${seen.text.slice(0, seen.at)}|${seen.text.slice(seen.at)}`, wanted);
    assert.equal(seen.to, seen.at, "something is selected");
    assert.equal(seen.brand, brand);
  });
}
