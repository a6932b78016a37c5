// Elements is what stripe.elements() returns: elements that belong together and are paid with together.
class Elements {
  constructor(stripe, options = {}) {
    if (options.clientSecret !== undefined) secretOf(options.clientSecret);
    Object.assign(this, { stripe, options: { ...options }, all: [], id: crypto.randomUUID?.() ?? String(Math.random()), handlers: [] });
  }

  // frameOptions are what every frame of this group has to know.
  frameOptions() {
    const { appearance, locale, clientSecret, mode, amount, currency, fonts } = this.options;
    return { ...this.stripe.frameOptions(), group: this.id, ...(locale && locale !== "auto" && { locale }), appearance: plain(appearance), clientSecret, mode, amount, currency, fonts: plain(fonts), billing: this.billing };
  }

  create(type, options = {}) {
    if (!kinds[type] && !silent.includes(type) && !elsewhere.includes(type)) {
      throw new IntegrationError(`A valid Element name must be provided. Valid Elements are: ${Object.keys(kinds).join(", ")}. You passed: ${type}.`);
    }
    const same = (e) => e.type === type && (type !== "address" || e.options.mode === options.mode);
    if (this.all.some(same)) throw new IntegrationError(`Can only create one Element of type ${type} through create().`);
    if (type === "address" && !["shipping", "billing"].includes(options.mode)) {
      throw new IntegrationError("You must specify a `mode` of \"shipping\" or \"billing\" for the address Element.");
    }
    const element = new StripeElement(this, type, options);
    this.all.push(element);
    if (type === "address" && options.mode === "billing") { // the payment Element does not ask for it again
      this.billing = true;
      this.payer()?.frame.call("look", this.frameOptions());
    }
    return element;
  }

  getElement(named, { mode } = {}) {
    const type = typeof named === "string" ? named : named?.__elementType;
    return this.all.find((e) => e.type === type && (!mode || e.options.mode === mode)) ?? null;
  }

  update(options = {}) {
    if (options.clientSecret !== undefined && options.clientSecret !== this.options.clientSecret) {
      throw new IntegrationError("You cannot change the clientSecret of Elements. Create new Elements.");
    }
    Object.assign(this.options, options);
    const sent = this.inOrder().map((e) => e.frame?.call("look", this.frameOptions()));
    const done = Promise.all(sent).then(() => { for (const handler of this.handlers) handler({ status: "complete" }); });
    return since("dahlia") ? done : undefined;
  }

  on(event, handler) { if (event === "update-end") this.handlers.push(handler); return this; }
  off(event, handler) { this.handlers = this.handlers.filter((h) => h !== handler); return this; }

  async fetchUpdates() { return {}; }

  // submit checks what has been typed, and shows what is wrong with it.
  async submit() {
    const { error } = await this.collect();
    return error ? { error } : { selectedPaymentMethod: "card" };
  }

  forget(element) { this.all = this.all.filter((e) => e !== element); }

  changed() { /* a checkout looks at this */ }

  // inOrder are the elements that are on the page, in its order.
  inOrder() {
    return this.all.filter((e) => e.frame).sort((a, b) => (a.container.compareDocumentPosition(b.container) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  }

  // payer is the element that holds the card.
  payer() { return this.inOrder().find((e) => e.kind?.pays); }

  // collect has every element check itself. The first one on the page with something wrong gets the focus.
  // What the others give is returned as a payment takes it.
  async collect() {
    const on = this.inOrder().filter((e) => e.kind?.pays || e.kind?.gives);
    const answers = await Promise.all(on.map((e) => e.frame.call("check")));
    const wrong = answers.findIndex((a) => a?.error);
    if (wrong >= 0) {
      if (on[wrong].frame && answers[wrong].error.type === "validation_error") await on[wrong].holdFocus();
      return { error: answers[wrong].error };
    }
    const given = { billing: {}, shipping: undefined };
    on.forEach((element, i) => {
      const value = answers[i]?.value;
      if (element.type === "linkAuthentication") given.billing = merged(given.billing, { email: value.email });
      if (element.type === "address" && element.options.mode === "shipping") given.shipping = value;
      if (element.type === "address" && element.options.mode === "billing") given.billing = merged(given.billing, value);
    });
    return given;
  }
}
