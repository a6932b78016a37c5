// A card that has been typed: what is wrong with it, and what the API is sent of it. Its number is
// in the field and in the body of a request, and nowhere else.
import { brandOf, cvcFault, digitsOf, expiryFault, expiryOf, numberFault } from "../card.js";
import { bindCvc, bindExpiry, bindNumber } from "../card-input.js";
import { request } from "./api.js";
import { confirm } from "./intents.js";

export const words = { Visa: "visa", Mastercard: "mastercard", Amex: "amex", Discover: "discover", "Diners Club": "diners", JCB: "jcb", UnionPay: "unionpay" };
export const brandName = (number) => words[brandOf(number).word] ?? "unknown";

// brandsOf lists the networks of a number, for the page around the frame.
export const brandsOf = (number) => [brandName(number)].filter((brand) => brand !== "unknown");

export const faults = {
  number: numberFault,
  expiry(text) {
    if (!expiryFault(text)) return "";
    const at = expiryOf(text);
    if (!at) return "incomplete_expiry";
    return at.year < new Date().getUTCFullYear() ? "invalid_expiry_year_past" : "invalid_expiry_month_past";
  },
  cvc: cvcFault,
};

export const binds = { number: bindNumber, expiry: bindExpiry, cvc: bindCvc };

// cardOf is a card as the API takes it.
export function cardOf({ number, expiry, cvc }) {
  const at = expiryOf(expiry);
  return { number: digitsOf(number), exp_month: at?.month, exp_year: at?.year, ...(cvc && { cvc: digitsOf(cvc) }) };
}

// advance goes on to the next field when one is complete, and back from one that is empty.
export function advance(order) {
  order.forEach(([field, complete], i) => {
    field.addEventListener("input", () => {
      if (complete() && field.selectionStart === field.value.length) order[i + 1]?.[0].focus();
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Backspace" && field.value === "" && i > 0) { event.preventDefault(); order[i - 1][0].focus(); }
    });
  });
}

// merged is a with what b has, at every depth: what the merchant sends wins.
export function merged(a, b) {
  if (b === undefined) return a;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return b;
  const all = { ...a };
  for (const [name, value] of Object.entries(b)) all[name] = merged(a[name], value);
  return all;
}

// paying are the methods of a frame that holds a card. card() reads it, and billing() what was typed with it.
export function paying({ card, billing = () => ({}) }) {
  const method = (more = {}) => merged({ billing_details: billing() }, { ...more, type: "card", card: { ...more.card, ...card() } });
  const made = async (name, work) => {
    try {
      return { [name]: await work() };
    } catch (failure) {
      if (failure?.error) return { error: failure.error };
      throw failure;
    }
  };
  return {
    confirm: ({ params, card: typed, handleActions, fault, ...at }) =>
      confirm(at, typed ? { ...params, payment_method_data: method(params.payment_method_data) } : params, { handleActions, fault }),
    createPaymentMethod: (params) => made("paymentMethod", () => request("POST", "/v1/payment_methods", method(params))),
    createConfirmationToken: (params) => made("confirmationToken", () =>
      request("POST", "/v1/confirmation_tokens", { ...params, payment_method_data: method(params.payment_method_data) })),
    createToken: ({ name, address_line1, address_line2, address_city, address_state, address_zip, address_country }) => {
      const zip = address_zip ?? billing().address?.postal_code;
      return made("token", () => request("POST", "/v1/tokens", { card: { ...card(), name, address_line1, address_line2, address_city, address_state, address_zip: zip, address_country } }));
    },
  };
}
