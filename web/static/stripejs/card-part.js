// One field of a card that a merchant has laid out: number, expiry or security code. The frame with
// the number sends the card. It reads the other fields in their frames, which are of its own origin:
// the merchant's page, which is not, can do that with none of them.
import { connect, emit, focusOn } from "./page.js";
import { use } from "./api.js";
import { Fields } from "./form.js";
import { binds, brandName, cardOf, faults, paying } from "./card-data.js";
import { style } from "./look.js";
import { say } from "./words.js";

const parts = { cardNumber: ["number", "cardnumber", "cc-number", "1234 1234 1234 1234"], cardExpiry: ["expiry", "exp-date", "cc-exp", "MM / YY"], cardCvc: ["cvc", "cvc", "cc-csc", "CVC"] };
const field = document.querySelector("input");
let fields, kind;

// sibling is the value of another part of the same card.
function sibling(wanted) {
  for (let i = 0; i < parent.length; i++) {
    try {
      const { part } = parent.frames[i];
      if (part?.group === options.group && part.kind === wanted) return part.value();
    } catch { /* a frame of another origin, which is none of ours */ }
  }
  return "";
}

const options = await connect({
  check: () => fields.check(), focusFault: () => fields.focusFault(), focus: () => focusOn(field), blur: () => field.blur(), clear: () => fields.clear(),
  look: (now) => fields.methods().look(now),
  update: ({ options: now }) => apply(now),
  ...paying({ card: () => cardOf({ number: field.value, expiry: sibling("expiry"), cvc: sibling("cvc") }) }),
});
const [of, name, autocomplete, placeholder] = parts[options.type];
kind = of;
Object.assign(field, { name, autocomplete, placeholder });
field.dataset.label = kind;
fields = new Fields({
  names: [name],
  faultOf: (_, { value }) => faults[kind](value, kind === "cvc" ? sibling("number") : undefined),
  describe: () => (kind === "number" ? { brand: brandName(field.value) } : {}),
});
window.part = { group: options.group, kind, value: () => field.value };
binds[kind](field, ({ word }) => { document.querySelector(".brand").textContent = options.options.showIcon === false ? "" : word; });
field.addEventListener("input", () => {
  if (kind !== "cvc" && !fields.fault(name) && field.selectionStart === field.value.length) emit("leave", false);
});
field.addEventListener("keydown", (event) => { if (event.key === "Backspace" && !field.value) emit("leave", true); });

function apply(now = {}) {
  field.placeholder = now.placeholder ?? placeholder;
  field.disabled = now.disabled === true;
  style(now.style);
  field.setAttribute("aria-label", say(kind));
}
use(options);
fields.begin(options);
apply(options.options);
