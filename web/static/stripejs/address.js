// An address, for shipping or for billing.
import { connect } from "./page.js";
import { Fields } from "./form.js";
import { fillCountries, fillStates, homeOf, statesOf } from "./countries.js";
import { say } from "./words.js";

const names = ["name", "country", "addressLine1", "addressLine2", "locality", "administrativeArea", "postalCode", "phone"];
const text = (name) => fields.field(name).value.trim();
const fields = new Fields({
  names,
  faultOf: (name, field) => (["addressLine2", "phone"].includes(name) && wanted.validation?.phone?.required !== "always" || field.value.trim() ? "" : name === "postalCode" ? "incomplete_zip" : "incomplete_field"),
  describe: () => ({ elementMode: wanted.mode, isNewAddress: true, value: value() }),
});
let wanted = {};

function value() {
  const address = { line1: text("addressLine1"), line2: text("addressLine2") || null, city: text("locality"), state: text("administrativeArea"), postal_code: text("postalCode"), country: text("country") };
  return { name: text("name"), address, ...(text("phone") && { phone: text("phone") }) };
}

const row = (name) => fields.form.querySelector(`[data-field="${name}"]`);

function place() {
  const country = text("country"), states = statesOf(country);
  if (row("administrativeArea").dataset.of !== country) { fillStates(fields.field("administrativeArea"), country); row("administrativeArea").dataset.of = country; }
  row("administrativeArea").hidden = !states;
  row("postalCode").hidden = ["AE", "HK", "CL"].includes(country);
  row("phone").hidden = wanted.fields?.phone !== "always";
  row("postalCode").querySelector("label").textContent = say(country === "US" ? "zip" : "postal");
}
fields.field("country").addEventListener("change", place);

function fill({ name, phone, address = {} } = {}) {
  const values = { name, phone, addressLine1: address.line1, addressLine2: address.line2, locality: address.city, postalCode: address.postal_code };
  for (const [field, known] of Object.entries(values)) if (known) fields.field(field).value = known;
  if (address.country) fields.field("country").value = address.country;
  place();
  if (address.state) fields.field("administrativeArea").value = address.state;
}

const options = await connect({
  ...fields.methods(),
  look: (now) => { fields.methods().look(now); place(); },
  check: () => ({ ...fields.check(), value: clean(value()) }),
  value: () => ({ complete: fields.complete, isNewAddress: true, value: value() }),
  update: ({ options: now }) => { wanted = now; place(); },
});

// clean leaves out what is empty: the API takes an empty text as a wish to delete.
const clean = (given) => Object.fromEntries(Object.entries(given).filter(([, v]) => v).map(([k, v]) => [k, typeof v === "object" ? clean(v) : v]));

wanted = options.options;
fillCountries(fields.field("country"), options.locale, wanted.allowedCountries);
const home = homeOf(options.locale);
fields.field("country").value = home;
if (!text("country")) fields.field("country").value = fields.field("country").querySelector('[value="US"]') ? "US" : fields.field("country").options[0]?.value ?? "";
fill(wanted.defaultValues);
fields.begin(options);
place();
fields.tell();
