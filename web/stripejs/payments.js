// What confirms, retrieves and describes payments. Each function checks what the merchant's code
// has sent, and has a frame do it: the one with the card, or the controller.

// secretOf reads a client secret, which contains the intent's id.
function secretOf(secret, param = "clientSecret") {
  const found = typeof secret === "string" && secret.match(/^((pi|seti)_[A-Za-z0-9]+)_secret_[A-Za-z0-9]+$/);
  if (!found) throw new IntegrationError(`Invalid value for ${param}: expected a string of the form \${id}_secret_\${secret}. You specified: ${typeof secret === "string" ? secret.slice(0, 12) + "…" : String(secret)}.`);
  return { secret, id: found[1], setup: found[2] === "seti" };
}

const needs = (condition, message) => { if (!condition) throw new IntegrationError(message); };

// pressed keeps what is under way, so that a button that is pressed twice is one payment.
const pressed = new Map();

function once(secret, start) {
  if (!pressed.has(secret)) pressed.set(secret, start().finally(() => pressed.delete(secret)));
  return pressed.get(secret);
}

const resultOf = ({ error, intent }, setup) => (error ? { error } : { [setup ? "setupIntent" : "paymentIntent"]: intent });

// back is where a browser goes after a payment, with what an integration reads there.
function back(returnURL, { setup }, intent) {
  const url = new URL(returnURL), kind = setup ? "setup_intent" : "payment_intent";
  url.searchParams.set(kind, intent.id);
  url.searchParams.set(`${kind}_client_secret`, intent.client_secret);
  url.searchParams.set("redirect_status", { processing: "pending", requires_action: "pending", requires_payment_method: "failed" }[intent.status] ?? "succeeded");
  return url.href;
}

// leave goes to another page. Nothing comes after it.
function leave(url) {
  location.assign(url);
  return new Promise(() => {});
}

const payments = {
  confirmPayment(options = {}) { return this.confirm("confirmPayment", options, false); },
  confirmSetup(options = {}) { return this.confirm("confirmSetup", options, true); },

  async confirm(name, { elements, clientSecret, confirmParams = {}, redirect = "always", acquirerFault }, setup) {
    const given = clientSecret ?? elements?.options.clientSecret;
    needs(given, `In order to call stripe.${name}(), pass either an Elements instance with a clientSecret, or a clientSecret.`);
    const at = secretOf(given);
    needs(at.setup === setup, `stripe.${name}() needs the clientSecret of a ${setup ? "SetupIntent" : "PaymentIntent"}.`);
    needs(redirect === "always" || redirect === "if_required", `Invalid value for ${name}(): redirect should be one of "always" or "if_required".`);
    needs(redirect === "if_required" || confirmParams.return_url, `Invalid value for ${name}(): confirmParams.return_url should be a url string.`);
    return once(given, async () => {
      const params = { ...plain(confirmParams), use_stripe_sdk: true };
      let frame = this.controller, card = false;
      if (elements && !params.payment_method && !params.confirmation_token) {
        const payer = elements.payer();
        needs(payer, `stripe.${name}() needs a mounted payment Element.`);
        const { error, billing, shipping } = await elements.collect();
        if (error) return { error };
        params.payment_method_data = merged({ billing_details: billing }, params.payment_method_data ?? {});
        if (shipping && !params.shipping && !setup) params.shipping = shipping;
        [frame, card] = [payer.frame, true];
      }
      const end = await frame.call("confirm", { ...at, params, card, fault: acquirerFault });
      if (end.error || redirect === "if_required") return resultOf(end, setup);
      return leave(back(confirmParams.return_url, at, end.intent));
    });
  },

  confirmCardPayment(secret, data = {}, options = {}) { return this.confirmCard(secretOf(secret), data, options); },
  confirmCardSetup(secret, data = {}, options = {}) { return this.confirmCard(secretOf(secret), data, options); },

  confirmCard(at, data, { handleActions = true, acquirerFault }) {
    return once(at.secret, async () => {
      const { payment_method: method, ...params } = plain({ ...data, payment_method: undefined });
      const given = data?.payment_method;
      if (typeof given === "string") params.payment_method = given;
      params.use_stripe_sdk = true;
      let frame = this.controller, card = false;
      if (isObject(given)) {
        const { card: source, ...more } = given;
        params.payment_method_data = { type: "card", ...plain(more) };
        if (source instanceof StripeElement) [frame, card] = [this.frameOf(source), true];
        else params.payment_method_data.card = plain(source);
      }
      if (card) {
        const error = await this.checked(given.card);
        if (error) return { error };
      }
      const end = await frame.call("confirm", { ...at, params, card, handleActions, fault: acquirerFault });
      return resultOf(end, at.setup);
    });
  },

  // checked has the elements of a card check themselves; the first wrong field gets the focus.
  async checked(element) {
    const { error } = element.kind.pays && element.type === "cardNumber" ? await this.checkedParts(element) : await element.frame.call("check");
    if (error && element.type !== "cardNumber") await element.holdFocus();
    return error;
  },

  async checkedParts(element) {
    const parts = element.group.inOrder().filter((e) => ["cardNumber", "cardExpiry", "cardCvc"].includes(e.type));
    const answers = await Promise.all(parts.map((e) => e.frame.call("check")));
    const wrong = answers.findIndex((a) => a.error);
    if (wrong < 0) return {};
    await parts[wrong].holdFocus();
    return answers[wrong];
  },

  frameOf(element) {
    needs(element instanceof StripeElement && ["payment", "card", "cardNumber", "cardExpiry", "cardCvc"].includes(element.type), "A card Element is needed here.");
    const payer = element.kind.pays ? element : element.group.payer();
    needs(payer?.frame, "We could not retrieve data from the specified Element. Please make sure the Element you are attempting to use is still mounted.");
    return payer.frame;
  },

  async retrievePaymentIntent(secret) { return resultOf(await this.controller.call("retrieve", secretOf(secret)), false); },
  async retrieveSetupIntent(secret) { return resultOf(await this.controller.call("retrieve", secretOf(secret)), true); },

  async handleNextAction({ clientSecret } = {}) {
    const at = secretOf(clientSecret);
    return resultOf(await this.controller.call("act", at), at.setup);
  },

  async handleCardAction(secret) {
    const at = secretOf(secret);
    return resultOf(await this.controller.call("act", at), at.setup);
  },

  async createToken(element, data = {}) {
    if (typeof element === "string") return unavailable(`A token of the type ${element}`);
    const frame = this.frameOf(element);
    const error = await this.checked(element.kind.pays ? element : element.group.payer());
    return error ? { error } : frame.call("createToken", plain(data));
  },

  async createSource() { return unavailable("A source"); },

  async createPaymentMethod(first, element, data) {
    if (typeof first === "string") return this.createPaymentMethod({ ...data, type: first, [first]: element });
    const { elements, params = {}, ...direct } = first;
    if (elements) {
      const { error, billing } = await elements.collect();
      if (error) return { error };
      return this.frameOf(elements.payer()).call("createPaymentMethod", merged({ billing_details: billing }, plain(params)));
    }
    const { card, ...more } = direct;
    if (!(card instanceof StripeElement)) return this.controller.call("createPaymentMethod", plain(direct));
    const frame = this.frameOf(card), error = await this.checked(card);
    return error ? { error } : frame.call("createPaymentMethod", plain(more));
  },

  async createConfirmationToken({ elements, params = {} } = {}) {
    const payer = elements?.payer();
    needs(payer, "stripe.createConfirmationToken() needs an Elements instance with a mounted payment Element.");
    const { error, billing, shipping } = await elements.collect();
    if (error) return { error };
    const sent = plain(params), { setupFutureUsage: usage } = elements.options;
    sent.payment_method_data = merged({ billing_details: billing }, sent.payment_method_data ?? {});
    if (shipping && !sent.shipping) sent.shipping = shipping;
    if (usage && !sent.setup_future_usage) sent.setup_future_usage = usage;
    return payer.frame.call("createConfirmationToken", sent);
  },
};
