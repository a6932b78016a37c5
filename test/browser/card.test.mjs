// The card field, without a browser: what is made of what has been typed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { brandOf, caretAfter, cvcFault, expiryFault, expiryOf, groupExpiry, groupNumber, numberFault } from "../../web/static/card.js";
import { all } from "../../web/static/stripejs/words.js";

test("numbers are grouped as on the card, whatever separates them", () => {
  for (const [typed, shown] of Object.entries({
    "": "", 4: "4", 4242: "4242", 42424: "4242 4", "4242424242424242": "4242 4242 4242 4242", "4242-4242-4242-4242": "4242 4242 4242 4242", " 4242.4242 42424242 ": "4242 4242 4242 4242",
    "42424242424242424242": "4242 4242 4242 4242 424", "378282246310005": "3782 822463 10005", 37828: "3782 8", "3782 822463 100059": "3782 822463 10005",
    "36227206271667": "3622 720627 1667", "3056930009020004": "3056 9300 0902 0004", "５５５５555555554444": "5555 5555 5555 4444", "card 6011": "6011",
  })) assert.equal(groupNumber(typed), shown, typed);
});

test("a number tells its brand as soon as it can", () => {
  for (const [number, brand] of Object.entries({ 4: "Visa", 34: "Amex", 37: "Amex", 3: "", 35: "", 3528: "JCB", 3566: "JCB", 36: "Diners Club", 305: "Diners Club", 51: "Mastercard", 55: "Mastercard", 56: "",
    222: "", 2221: "Mastercard", 2220: "", 2720: "Mastercard", 2721: "", 271: "Mastercard", 6011: "Discover", 65: "Discover", 62: "UnionPay", 9: "" })) assert.equal(brandOf(number).word, brand, number);
});

test("faults are those of the number, and not of its beginning", () => {
  const incomplete = "incomplete_number", invalid = "invalid_number";
  for (const [number, fault] of Object.entries({ "4242 4242 4242 4242": "", "4242 4242 4242 4241": invalid, 4242: incomplete, "3782 822463 10005": "", "3782 822463 1000": incomplete, "5555 5555 5555 444": incomplete })) assert.equal(numberFault(number), fault, number);
  assert.equal(cvcFault("123", "4242"), "");
  assert.equal(cvcFault("123", "3782"), "incomplete_cvc");
});

test("an expiry is taken as people write it", () => {
  for (const [typed, [month, year]] of Object.entries({ "12 / 34": [12, 2034], "1/27": [1, 2027], "0127": [1, 2027], 127: [1, 2027], "01-2027": [1, 2027], "012027": [1, 2027], "1.2027": [1, 2027], "12/34": [12, 2034] })) {
    assert.deepEqual(expiryOf(typed), { month, year }, typed);
  }
  for (const typed of ["", "1", "12", "12 / ", "13/27", "00/27", "1/1999", "ab/cd"]) assert.equal(expiryOf(typed), undefined, typed);
  const now = new Date("2026-11-22T00:00:00Z");
  assert.equal(expiryFault("11/26", now), "");
  assert.equal(expiryFault("10/26", now), "past_expiry");
});

test("an expiry is grouped while it is typed, and can be deleted again", () => {
  for (const [typed, shown] of Object.entries({ "": "", 0: "0", 1: "1", 2: "02 / ", 12: "12 / ", "13": "01 / 3", "1/": "01 / ", "12 / 3": "12 / 3", "12 / 34": "12 / 34", "12 / 345": "12 / 34", 1234: "12 / 34", "012034": "01 / 34", "12 / 2034": "12 / 34", "12 / 203": "12 / 203" })) {
    assert.equal(groupExpiry(typed), shown, typed);
  }
  for (const [typed, shown] of Object.entries({ "12 /": "12", "12 / ": "12", 1: "1", "": "", "12 / 3": "12 / 3" })) assert.equal(groupExpiry(typed, true), shown, `${typed}, deleting`);
});

test("the caret stays behind the digit it stood behind", () => {
  assert.equal(caretAfter("4242 4242", 4), 4);
  assert.equal(caretAfter("4242 4242", 5), 6);
  assert.equal(caretAfter("4242", 9), 4);
});

test("every text of the frames exists in every language", () => {
  for (const [language, words] of Object.entries(all)) {
    assert.deepEqual(Object.keys(words).sort(), Object.keys(all.en).sort(), language);
    for (const [name, text] of Object.entries(words)) assert.ok(text.trim(), `${language}: ${name}`);
  }
});
