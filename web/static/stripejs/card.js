// The card in one line: number, expiry, security code and postal code.
import { connect } from "./page.js";
import { use } from "./api.js";
import { Fields } from "./form.js";
import { advance, binds, brandName, brandsOf, cardOf, faults, paying } from "./card-data.js";
import { style } from "./look.js";

const value = (name) => fields.field(name).value;
const fields = new Fields({
  names: ["cardnumber", "exp-date", "cvc", "postal"],
  faultOf(name, field) {
    switch (name) {
      case "cardnumber": return faults.number(field.value);
      case "exp-date": return faults.expiry(field.value);
      case "cvc": return faults.cvc(field.value, value("cardnumber"));
    }
    return field.value.trim() ? "" : "incomplete_zip";
  },
  describe() {
    const number = value("cardnumber");
    return { brand: brandName(number), brands: brandsOf(number), value: { postalCode: value("postal") } };
  },
});

binds.number(fields.field("cardnumber"), ({ word, cvc }) => {
  fields.form.querySelector(".brand").textContent = word;
  fields.field("cvc").maxLength = cvc;
});
binds.expiry(fields.field("exp-date"));
binds.cvc(fields.field("cvc"));
advance(["cardnumber", "exp-date", "cvc", "postal"].map((name) => [fields.field(name), () => name !== "postal" && !fields.fault(name)]));

function apply(options = {}) {
  fields.field("postal").hidden = options.hidePostalCode === true;
  for (const name of fields.names) fields.field(name).disabled = options.disabled === true;
  if (options.value?.postalCode && !value("postal")) fields.field("postal").value = options.value.postalCode;
  style(options.style);
  fields.restate();
}

const postal = () => (fields.field("postal").hidden || !value("postal") ? {} : { address: { postal_code: value("postal").trim() } });

const options = await connect({
  ...fields.methods(),
  update: ({ options: now }) => apply(now),
  ...paying({ card: () => cardOf({ number: value("cardnumber"), expiry: value("exp-date"), cvc: value("cvc") }), billing: postal }),
});
use(options);
apply(options.options);
fields.begin(options);
