// What the fields of a card do while something is typed into them: the hosted page and
// the frames of Stripe.js share it. Values are rewritten only where that changes them,
// and the caret stays behind the digit it stood behind.
import { brandOf, caretAfter, digitsOf, groupExpiry, groupNumber } from "./card.js";

// bindNumber groups a number. changed gets its brand after every change.
export function bindNumber(field, changed = () => {}) {
  let last = "";
  const typed = (event) => {
    let digits = digitsOf(field.value), before = digitsOf(field.value.slice(0, field.selectionStart)).length;
    // Deleting the space between two groups means the digit beside it.
    if (event && digits === last && event.inputType?.startsWith("deleteContent")) {
      const at = event.inputType === "deleteContentBackward" ? --before : before;
      digits = digits.slice(0, at) + digits.slice(at + 1);
    }
    const text = groupNumber(digits);
    if (text !== field.value) {
      field.value = text;
      const at = caretAfter(text, before);
      if (document.activeElement === field) field.setSelectionRange(at, at);
    }
    last = digitsOf(text);
    changed(brandOf(text));
  };
  field.addEventListener("input", typed);
  return typed;
}

export function bindExpiry(field) {
  field.addEventListener("input", (event) => {
    if (field.selectionStart !== field.value.length) return; // in the middle: nothing moves
    const text = groupExpiry(field.value, event.inputType?.startsWith("delete"));
    if (text !== field.value) field.value = text;
  });
}

export function bindCvc(field) {
  field.addEventListener("input", () => {
    const text = digitsOf(field.value).slice(0, 4);
    if (text !== field.value) field.value = text;
  });
}
