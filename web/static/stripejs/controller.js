// The frame that nothing is typed into: what needs no card is asked for here.
import { connect } from "./page.js";
import { request, use } from "./api.js";
import { act, confirm, retrieve } from "./intents.js";

const made = async (name, work) => {
  try {
    return { [name]: await work() };
  } catch (failure) {
    if (failure?.error) return { error: failure.error };
    throw failure;
  }
};

use(await connect({
  retrieve, act,
  confirm: ({ params, card: _, handleActions, fault, ...at }) => confirm(at, params, { handleActions, fault }),
  createPaymentMethod: (params) => made("paymentMethod", () => request("POST", "/v1/payment_methods", params)),
  page: ({ session }) => made("page", () => request("GET", `/v1/payment_pages/${encodeURIComponent(session)}`)),
  updatePage: ({ session, params }) => made("page", () => request("POST", `/v1/payment_pages/${encodeURIComponent(session)}`, params)),
}));
