// The Payment Element: a card, with what its bank compares.
import { connect, emit } from "./page.js";
import { use } from "./api.js";
import { Fields } from "./form.js";
import { binds, brandsOf, cardOf, faults, merged, paying } from "./card-data.js";
import { asksPostal, fillCountries, homeOf } from "./countries.js";
import { retrieve } from "./intents.js";
import { payPage } from "./session.js";
import { say } from "./words.js";

const names = ["number", "expiry", "cvc", "name", "email", "country", "postalCode"];
const value = (name) => fields.field(name).value.trim();
const fields = new Fields({
  names,
  faultOf(name, field) {
    const text = field.value.trim();
    switch (name) {
      case "number": case "expiry": return faults[name](text);
      case "cvc": return faults.cvc(text, value("number"));
      case "email": return /^[^\s@<>]+@[^\s@<>]+$/.test(text) ? "" : "incomplete_email";
      case "name": return text ? "" : "incomplete_field";
      case "postalCode": return text ? "" : "incomplete_zip";
    }
    return "";
  },
  describe: () => ({ brands: brandsOf(value("number")), collapsed: false, value: { type: "card" } }),
});
binds.number(fields.field("number"), ({ word, cvc }) => {
  fields.form.querySelector(".brand").textContent = word;
  fields.field("cvc").placeholder = cvc === 4 ? "1234" : "CVC";
});
binds.expiry(fields.field("expiry"));
binds.cvc(fields.field("cvc"));
fields.field("country").addEventListener("change", () => place());
document.getElementById("card-tab").addEventListener("click", () => fields.field("number").focus());

let wanted = {}; // the options of the element

const row = (name) => fields.form.querySelector(`[data-field="${name}"]`);

// asks says whether the merchant has the element ask for a detail. "never" means that the merchant's code sends it.
function asks(...path) {
  let at = wanted.fields?.billingDetails ?? (options.billing ? "never" : "auto");
  for (const name of path) at = typeof at === "object" ? at[name] ?? "auto" : at;
  return typeof at === "object" ? "auto" : at;
}

function place() {
  row("country").hidden = asks("address", "country") === "never";
  row("postalCode").hidden = asks("address", "postalCode") === "never" || row("country").hidden || !asksPostal(value("country"));
  row("name").hidden = asks("name") !== "always";
  row("email").hidden = asks("email") !== "always";
  row("postalCode").querySelector("label").textContent = say(value("country") === "US" ? "zip" : "postal");
}

function apply(now = {}) {
  wanted = now;
  for (const name of names) fields.field(name).disabled = now.readOnly === true;
  place();
}

function billing() {
  const shown = new Set(fields.shown), address = {};
  if (shown.has("country")) address.country = value("country");
  if (shown.has("postalCode")) address.postal_code = value("postalCode");
  const given = wanted.defaultValues?.billingDetails ?? {};
  return merged(given, { ...(shown.has("name") && { name: value("name") }), ...(shown.has("email") && { email: value("email") }), address });
}

const card = () => cardOf({ number: value("number"), expiry: value("expiry"), cvc: value("cvc") });
const options = await connect({
  ...fields.methods(),
  look: (now) => { options.billing = now.billing; fields.methods().look(now); place(); },
  update: ({ options: now }) => apply(now),
  ...paying({ card, billing }),
  payPage: (params) => payPage(params, { type: "card", card: card(), billing_details: billing() }),
});
use(options);
fillCountries(fields.field("country"), options.locale);
const home = options.options.defaultValues?.billingDetails?.address?.country ?? homeOf(options.locale);
fields.field("country").value = home;
if (fields.field("country").value !== home) fields.field("country").value = "US";
const known = options.options.defaultValues?.billingDetails ?? {};
fields.field("name").value = known.name ?? "";
fields.field("email").value = known.email ?? "";
fields.field("postalCode").value = known.address?.postal_code ?? "";
apply(options.options);
fields.begin(options);
place();

// An intent that cannot be paid any more is noticed before anything is typed.
if (options.clientSecret) {
  const setup = options.clientSecret.startsWith("seti_"), [id] = options.clientSecret.split("_secret_");
  const { error, intent } = await retrieve({ id, secret: options.clientSecret, setup });
  const over = intent && ["succeeded", "canceled"].includes(intent.status);
  if (error) emit("loaderror", { error });
  else if (over) emit("loaderror", { error: { type: "invalid_request_error", code: `${setup ? "setup" : "payment"}_intent_unexpected_state`, message: `The intent of this client secret is ${intent.status}.` } });
}
