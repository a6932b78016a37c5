// The email address of a customer. Nothing is looked up with it.
import { connect } from "./page.js";
import { Fields } from "./form.js";

const fields = new Fields({
  names: ["email"],
  faultOf: (_, { value }) => (/^[^\s@<>]+@[^\s@<>]+$/.test(value.trim()) ? "" : "incomplete_email"),
  describe: () => ({ value: { email: fields.field("email").value.trim() } }),
});
const value = () => ({ email: fields.field("email").value.trim() });
const options = await connect({
  ...fields.methods(),
  check: () => {
    if (!value().email) return { value: {} }; // a customer may leave it out
    return { ...fields.check(), value: value() };
  },
  update: () => {},
});
fields.field("email").value = options.options.defaultValues?.email ?? "";
fields.begin(options);
if (value().email) fields.tell();
