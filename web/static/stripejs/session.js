// Paying for a checkout session, as its page does.
import { request } from "./api.js";
import { authenticated, pageOfBank } from "./intents.js";
import { merged } from "./card-data.js";

const intentOf = (page) => page.payment_intent ?? page.setup_intent;

// payPage confirms a session with a card, and resolves to the session's page afterwards.
export async function payPage({ session, params, billing, fault }, method) {
  const at = `/v1/payment_pages/${encodeURIComponent(session)}`;
  try {
    const sent = { ...params, payment_method_data: { ...method, billing_details: merged(method.billing_details, billing) } };
    let page = await request("POST", `${at}/confirm`, sent, { fault });
    const bank = intentOf(page) && pageOfBank(intentOf(page));
    if (bank) page = await authenticated(bank, () => request("GET", at), intentOf);
    return { page };
  } catch (failure) {
    if (failure?.error) return { error: failure.error };
    throw failure;
  }
}
