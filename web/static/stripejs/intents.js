// Confirming an intent, and what may have to happen afterwards: the cardholder's bank.
import { pause, request } from "./api.js";
import { emit } from "./page.js";

const addressOf = ({ id, setup }) => `/v1/${setup ? "setup" : "payment"}_intents/${id}`;

export const retrieve = (at) => settled(() => request("GET", addressOf(at), { client_secret: at.secret }));

// confirm confirms an intent and goes with the customer to the bank, if it wants to see them.
export const confirm = (at, params, { handleActions = true, fault } = {}) => settled(async () => {
  const intent = await request("POST", `${addressOf(at)}/confirm`, { ...params, client_secret: at.secret }, { fault });
  return handleActions ? acted(at, intent) : intent;
});

// act does what an intent that was confirmed elsewhere waits for.
export const act = (at) => settled(async () => acted(at, await request("GET", addressOf(at), { client_secret: at.secret })));

// settled turns the end of a request into what the page gets.
async function settled(work) {
  try {
    return { intent: await work() };
  } catch (failure) {
    if (failure?.error) return { error: failure.error };
    throw failure;
  }
}

// pageOfBank is the path of the page on which the cardholder authenticates, wherever ours are found.
export function pageOfBank(intent) {
  const next = intent.next_action, address = next?.redirect_to_url?.url ?? next?.use_stripe_sdk?.stripe_js;
  if (intent.status !== "requires_action" || !address) return undefined;
  const { pathname } = new URL(address, location.href);
  return pathname.startsWith("/3d_secure/") ? pathname : undefined;
}

async function acted(at, intent) {
  const page = pageOfBank(intent);
  if (!page) return intent;
  return authenticated(page, () => request("GET", addressOf(at), { client_secret: at.secret }), (now) => now);
}

// authenticated shows the bank's page until the cardholder has decided there. read gets the object
// that tells how it ended, and intentOf finds the intent in it.
export async function authenticated(page, read, intentOf) {
  emit("challenge", { page });
  try {
    for (;;) {
      await pause(400);
      const now = await read(), intent = intentOf(now);
      if (pageOfBank(intent) === page || intent.status === "processing") continue;
      const failure = intent.last_payment_error ?? intent.last_setup_error;
      if (intent.status === "requires_payment_method" && failure) {
        throw { error: { ...failure, [intent.object]: intent } };
      }
      return now;
    }
  } finally {
    emit("challenged");
  }
}
