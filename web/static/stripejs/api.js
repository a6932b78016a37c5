// The API, as a browser uses it: with a publishable key, and from our own origin. A request that
// may change something has an idempotency key, and is sent again under that key until an answer
// comes. So a card is charged once, also if the server dies in the middle.
const waits = [300, 600, 1000, 2000, 3000];
const enough = 150_000; // milliseconds after which an answer is not waited for any more
const oneTry = 45_000; // longer than the server takes at most

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// lost is called with true while nobody answers, and with false when somebody does again.
export const watch = { lost: () => {} };

let settings = {};
export function use({ key, apiVersion, account }) { settings = { key, apiVersion, account }; }

// encode writes nested parameters as the API reads them: card[number]=…, types[0]=….
export function encode(params, into = new URLSearchParams(), prefix = "") {
  for (const [name, value] of Object.entries(params)) {
    const at = prefix ? `${prefix}[${name}]` : name;
    if (value === undefined || value === null) continue;
    if (typeof value === "object") encode(value, into, at);
    else into.append(at, String(value));
  }
  return into;
}

const connection = { type: "api_connection_error", message: "We could not reach the payment service. The outcome is not known. Retrieve the intent to learn its status." };

// request resolves to an object of the API, or throws { error } as the API has it.
export async function request(method, path, params = {}, { fault } = {}) {
  const headers = { authorization: `Bearer ${settings.key}`, prefer: "wait=10" };
  if (settings.apiVersion) headers["stripe-version"] = settings.apiVersion;
  if (settings.account) headers["stripe-account"] = settings.account;
  const form = encode(params), read = method === "GET";
  if (!read) headers["idempotency-key"] = `js-${newKey()}`;
  if (fault) headers["acquirer-fault"] = fault;
  const end = Date.now() + enough;
  for (let tries = 0; ; tries++) {
    const answer = await once(read ? `${path}?${form}` : path, { method, headers, ...(!read && { body: form }) });
    if (answer && !again(answer)) {
      watch.lost(false);
      if (answer.status < 400) return answer.body;
      throw { error: answer.body.error };
    }
    if (Date.now() > end) throw { error: connection };
    watch.lost(!answer || answer.status >= 500);
    delete headers["acquirer-fault"]; // it was asked for once: with every try, it would never end
    await pause(waits[Math.min(tries, waits.length - 1)]);
  }
}

async function once(address, init) {
  try {
    const answer = await fetch(address, { ...init, signal: AbortSignal.timeout(oneTry), cache: "no-store", credentials: "omit" });
    const body = await answer.json();
    return { status: answer.status, body, final: answer.headers.get("stripe-should-retry") === "false" };
  } catch {
    return undefined; // the connection was lost, or a proxy answered
  }
}

const again = ({ status, final }) => !final && (status === 409 || status === 429 || status >= 500);

const newKey = () => [...crypto.getRandomValues(new Uint32Array(5))].map((n) => n.toString(36)).join("");
