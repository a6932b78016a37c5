// What a card looks like while it is typed: brand, groups, expiry, and what is
// wrong with it. Nothing here touches a page, so it runs anywhere.

const four = [4, 8, 12, 16];
const brands = [
  { word: "Amex", starts: /^3[47]/, lengths: [15], gaps: [4, 10], cvc: 4 },
  { word: "Diners Club", starts: /^3(0[0-5]|[689])/, lengths: [14, 16], cvc: 3 },
  { word: "JCB", starts: /^35(2[89]|[3-8])/, lengths: [16, 17, 18, 19], cvc: 3 },
  { word: "Visa", starts: /^4/, lengths: [13, 16, 19], cvc: 3 },
  { word: "Mastercard", starts: /^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, lengths: [16], cvc: 3 },
  { word: "Discover", starts: /^(6011|64[4-9]|65)/, lengths: [16, 17, 18, 19], cvc: 3 },
  { word: "UnionPay", starts: /^(62|81)/, lengths: [16, 17, 18, 19], cvc: 3 },
];
const unknown = { word: "", lengths: [12, 13, 14, 15, 16, 17, 18, 19], cvc: 3 };

export const digitsOf = (text) => text.normalize("NFKC").replace(/\D/g, "");

export const brandOf = (number) => brands.find((b) => b.starts.test(digitsOf(number))) ?? unknown;

const longest = (brand) => Math.max(...brand.lengths);

// gapsOf depends on the length, too: Diners Club has cards of 14 and of 16 digits.
const gapsOf = (brand, digits) => brand.gaps ?? (brand.word === "Diners Club" && digits.length <= 14 ? [4, 10] : four);

export function groupNumber(text) {
  const brand = brandOf(text), digits = digitsOf(text).slice(0, longest(brand)), gaps = gapsOf(brand, digits);
  return [...digits].map((digit, i) => (gaps.includes(i) ? " " : "") + digit).join("");
}

export function luhn(digits) {
  let sum = 0;
  [...digits].reverse().forEach((digit, i) => {
    const d = digit * (1 + (i % 2));
    sum += d > 9 ? d - 9 : d;
  });
  return sum % 10 === 0;
}

// groupExpiry turns what has been typed so far into MM / YY. A separator is added
// when the month is complete, but not while somebody deletes: it could never go.
export function groupExpiry(text, deleting = false) {
  const cut = text.match(/^\s*(\d{1,2})\s*[/.\-\s]\s*(\d*)/);
  let month, year;
  if (cut) [, month, year] = cut;
  else {
    const digits = digitsOf(text);
    if (/^[2-9]/.test(digits) || /^1[3-9]/.test(digits)) [month, year] = [digits[0], digits.slice(1)];
    else [month, year] = [digits.slice(0, 2), digits.slice(2)];
    if (digits === "0" || digits === "1") return digits; // of a month that goes on
  }
  if (!month) return "";
  if (month.length === 1 && !deleting) month = `0${month}`;
  if (/^20\d\d/.test(year)) year = year.slice(2);
  else if (year !== "20" && year.length > 2) year = /^20/.test(year) ? year.slice(0, 4) : year.slice(0, 2);
  return deleting && year === "" ? month : `${month} / ${year}`;
}

export function expiryOf(text) {
  const found = text.match(/^\s*(\d{1,2})\s*[/.\-\s]\s*(\d{2}|20\d{2})\s*$/) ?? text.match(/^\s*(\d{1,2}?)(\d{2}|20\d{2})\s*$/);
  if (!found) return undefined;
  const month = Number(found[1]), year = Number(found[2]) % 100 + 2000;
  return month >= 1 && month <= 12 ? { month, year } : undefined;
}

// Faults are "" where there is nothing wrong. They are keys of texts, the same as those in
// internal/checkout/fields.go; internal/locale/words has the texts.
export function numberFault(text) {
  const digits = digitsOf(text), brand = brandOf(digits);
  if (!brand.lengths.includes(digits.length)) return "incomplete_number";
  return luhn(digits) ? "" : "invalid_number";
}

export function expiryFault(text, now = new Date()) {
  const at = expiryOf(text);
  if (!at) return "incomplete_expiry";
  const months = (at.year - now.getUTCFullYear()) * 12 + at.month - 1 - now.getUTCMonth();
  return months < 0 ? "past_expiry" : "";
}

export const cvcFault = (text, number) =>
  digitsOf(text).length < brandOf(number).cvc ? "incomplete_cvc" : "";

// caretAfter is where the caret belongs in a text that was grouped anew: behind
// as many digits as before.
export function caretAfter(text, count) {
  let at = 0;
  for (let seen = 0; at < text.length && seen < count; at++) if (/\d/.test(text[at])) seen++;
  return at;
}
