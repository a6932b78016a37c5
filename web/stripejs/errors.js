// The files of this folder are one script, window.Stripe, in alphabetical order: `train` is the
// release that the page has asked for ("v3", "dahlia"), and this is where the script came from.
const base = (() => {
  const own = document.currentScript ?? document.querySelector('script[src$="/v3/"], script[src$="/stripe.js"]');
  return new URL(own.src).origin;
})();

const trains = ["v3", "basil", "clover", "dahlia", "endive"];

// since says whether this release is that train or a later one.
const since = (first) => trains.indexOf(train) >= trains.indexOf(first);

// IntegrationError is a mistake in the merchant's code. What a customer can mend is returned as { error }.
class IntegrationError extends Error {
  constructor(message) {
    super(message);
    this.name = "IntegrationError";
  }
}

// unavailable is the answer for the parts of Stripe.js that are not here.
const unavailable = (what) => ({
  error: { type: "invalid_request_error", code: "payment_method_unavailable", message: `${what} is not available in this test environment. See ${base}/docs/divergences` },
});

const isObject = (value) => value !== null && typeof value === "object";

// merged is a with what b has, at every depth.
function merged(a, b) {
  if (!isObject(a) || !isObject(b) || Array.isArray(b)) return b === undefined ? a : b;
  const all = { ...a };
  for (const [name, value] of Object.entries(b)) all[name] = merged(a[name], value);
  return all;
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
