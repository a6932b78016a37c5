// StripeInstance is what Stripe("pk_…") returns.
class StripeInstance {
  constructor(key, options) {
    Object.assign(this, { _apiKey: key, _options: options });
    const hidden = "border: 0; margin: 0; padding: 0; width: 1px; height: 1px; position: fixed; top: 0; left: 0; visibility: hidden; pointer-events: none;";
    this.controller = new Frame({ name: "__privateStripeController", path: "/v3/controller.html", title: "Payment controller", options: this.frameOptions(), style: hidden });
    this.controller.on("challenge", (more) => this.challenge(more)).on("challenged", () => this.challenged());
    this.controller.iframe.setAttribute("aria-hidden", "true");
    this.controller.iframe.tabIndex = -1;
    const place = () => document.body.append(this.controller.iframe);
    if (document.body) place();
    else addEventListener("DOMContentLoaded", place, { once: true });
  }

  frameOptions() {
    const { apiVersion, locale, stripeAccount } = this._options, chosen = locale && locale !== "auto" ? locale : undefined;
    return { key: this._apiKey, apiVersion, account: stripeAccount, locale: chosen ?? navigator.language, train };
  }

  elements(options) { return new Elements(this, options); }

  // challenge shows the bank's page over all of the merchant's page.
  challenge(options) {
    this.challenged();
    this.before = document.activeElement;
    const style = "border: 0; margin: 0; padding: 0; position: fixed; inset: 0; width: 100%; height: 100%; z-index: 2147483647; color-scheme: normal;";
    this.modal = new Frame({ path: "/v3/three-ds-2-challenge.html", title: "3D Secure 2 authentication", options: { ...this.frameOptions(), ...options }, style });
    document.body.append(this.modal.iframe);
    this.modal.iframe.focus();
  }

  challenged() {
    if (!this.modal) return;
    this.modal.remove();
    this.modal = undefined;
    if (document.activeElement === document.body) this.before?.focus?.({ preventScroll: true });
  }

  paymentRequest() {
    const request = { canMakePayment: async () => null, on: () => request, once: () => request, off: () => request, show() { throw new IntegrationError("No wallet is available."); }, abort() {}, update() {}, isShowing: () => false };
    return request;
  }

  registerAppInfo(info) { this._appInfo = info; }
  _registerWrapper(wrapper) { this._wrapper = wrapper; }
}
for (const part of [payments, checkouts]) Object.defineProperties(StripeInstance.prototype, Object.getOwnPropertyDescriptors(part));

// What Stripe.js can do and this cannot is answered, never undefined.
const verbs = /^(authenticate|collect|confirm|create|handle|init|initialize|process|retrieve|verify)[A-Z]\w*$/;

function Stripe(key, options = {}) {
  if (typeof key !== "string" || key === "") throw new IntegrationError("Missing value for Stripe(): apiKey should be a string.");
  if (/^(sk|rk)_/.test(key)) throw new IntegrationError("You should not use your secret key with Stripe.js. Please pass a publishable key instead.");
  return new Proxy(new StripeInstance(key, options ?? {}), {
    get(stripe, name) {
      if (name in stripe || typeof name !== "string" || !verbs.test(name)) return stripe[name];
      const answer = unavailable(`stripe.${name}()`);
      // What begins with init returns an object whose functions the page calls at once.
      return name.startsWith("init") ? () => { throw new IntegrationError(answer.error.message); } : async () => answer;
    },
  });
}
Stripe.version = train === "v3" ? 3 : train;

// A page that loads the script twice keeps its first one.
window.Stripe ??= Stripe;
