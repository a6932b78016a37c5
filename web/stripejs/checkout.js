// Checkout on the merchant's page: the session's elements, or the hosted page in a frame. Names
// follow the release: initCheckout became initCheckoutElementsSdk with dahlia, initEmbeddedCheckout
// createEmbeddedCheckoutPage, and redirectToCheckout ended with clover.

// sessionOf reads a session's client secret, which contains its id.
function sessionOf(secret) {
  const found = typeof secret === "string" && secret.match(/^(cs_(test|live)_[A-Za-z0-9]+)_secret_[A-Za-z0-9]+$/);
  if (!found) throw new IntegrationError("Invalid value for clientSecret: expected the client_secret of a Checkout Session with a ui_mode of elements or embedded_page.");
  return found[1];
}

const looksLikeEmail = (text) => /^[^\s@<>]+@[^\s@<>]+$/.test(text);
const failed = (code, message, more) => ({ type: "error", error: { code, message, ...more } });

class Checkout {
  #handlers = [];

  constructor(stripe, options) {
    Object.assign(this, { stripe, options, known: { ...options.defaultValues } });
    this.elements = new Elements(stripe, { appearance: options.elementsOptions?.appearance ?? options.appearance, fonts: options.elementsOptions?.fonts });
    this.elements.changed = () => this.changed();
    this.loaded = this.load();
    this.loaded.catch(() => {}); // loadActions says it
  }

  async load() {
    const secret = await (this.options.clientSecret ?? this.options.fetchClientSecret?.());
    this.id = sessionOf(secret);
    await this.refresh();
  }

  async refresh() {
    const { error, page } = await this.stripe.controller.call("page", { session: this.id });
    if (error) throw Object.assign(new Error(error.message), error);
    this.take(page);
    this.told ??= JSON.stringify(this.session());
  }

  // take shows a page that the API sent. The API learns of a chosen shipping option when the customer pays.
  take(page) {
    const rate = this.page?.shipping_rate;
    this.page = page;
    this.ship(rate);
  }

  // ship chooses a shipping option, and returns false if there is none with this rate.
  ship(rate) {
    const option = this.page.shipping_options.find((o) => o.shipping_rate === rate);
    if (option) Object.assign(this.page, { shipping_rate: rate, amount_total: option.amount_total });
    return Boolean(option);
  }

  // redeem applies a promotion code in place of the present one, or removes it if the code is empty.
  async redeem(code) {
    const { error, page } = await this.stripe.controller.call("updatePage", { session: this.id, params: { promotion_code: code } });
    if (error) return failed(this.page.allow_promotion_codes && error.param === "promotion_code" && error.code !== "checkout_session_unexpected_state" ? "invalidCode" : null, error.message);
    this.take(page);
    return this.done();
  }

  // adjust changes the quantity of an item that the merchant lets the customer change.
  async adjust(item, quantity) {
    const { error, page } = await this.stripe.controller.call("updatePage", {
      session: this.id, params: { updated_line_item_quantity: { line_item_id: item, quantity, fail_update_on_discount_error: true } },
    });
    if (error) return failed(null, error.message);
    this.take(page);
    return this.done();
  }

  money(units) {
    const { currency } = this.page;
    const format = new Intl.NumberFormat(undefined, { style: "currency", currency: currency ?? "usd" });
    return { minorUnitsAmount: units, amount: format.format(units / this.divisor(format)) };
  }

  divisor(format = new Intl.NumberFormat("en", { style: "currency", currency: this.page.currency ?? "usd" })) { return 10 ** format.resolvedOptions().maximumFractionDigits; }

  // session is what the merchant's page sees: the session as the API has it, and what was entered here.
  session() {
    const page = this.page, none = this.money(0), intent = page.payment_intent ?? page.setup_intent;
    const off = page.discount?.amount ?? 0, subtotal = page.amount_subtotal ?? 0, total = page.amount_total ?? 0, shipped = total - subtotal + off;
    const option = (o) => ({ ...this.money(o.amount), id: o.shipping_rate, currency: page.currency, displayName: o.display_name, deliveryEstimate: o.delivery_estimate });
    const chosen = page.shipping_options.find((o) => o.shipping_rate === page.shipping_rate);
    return {
      id: page.id, livemode: page.livemode, currency: page.currency, businessName: page.business_name,
      status: page.status === "complete" ? { type: "complete", paymentStatus: page.payment_status } : { type: page.status },
      canConfirm: this.canConfirm(), email: this.email, phoneNumber: this.known.phoneNumber ?? null,
      billingAddress: this.known.billingAddress ?? null, shippingAddress: this.known.shippingAddress ?? null,
      minorUnitsAmountDivisor: this.divisor(), currencyOptions: null, nameCollection: null, recurring: null, savedPaymentMethods: null, surcharge: null, taxAmounts: null, taxIdInfo: null, optionalItems: null,
      tax: { status: "ready" }, lastPaymentError: intent?.last_payment_error ? { message: intent.last_payment_error.message } : null,
      discountAmounts: page.discount ? [{ ...this.money(off), displayName: page.discount.name, promotionCode: page.discount.promotion_code, recurring: null, percentOff: null }] : [],
      shipping: chosen ? { shippingOption: option(chosen), taxAmounts: null } : null, shippingOptions: page.shipping_options.map(option),
      lineItems: page.line_items.map((item) => ({
        id: item.id, name: item.description, description: null, quantity: item.quantity, priceId: item.price.id, images: [], isRemovable: false, unitLabel: null,
        adjustableQuantity: item.adjustable_quantity && { minimum: item.adjustable_quantity.minimum, maximum: item.adjustable_quantity.maximum }, recurring: null, pricing: null,
        discount: this.money(item.amount_discount), subtotal: this.money(item.amount_subtotal), total: this.money(item.amount_total), taxExclusive: none, taxInclusive: none,
        unitAmount: this.money(item.price.unit_amount), unitAmountDecimal: null, discountAmounts: null, taxAmounts: null, transformQuantity: null,
      })),
      total: { subtotal: this.money(subtotal), total: this.money(total), discount: this.money(off), shippingRate: this.money(shipped), taxExclusive: none, taxInclusive: none, appliedBalance: none, surcharge: none, balanceAppliedToNextInvoice: false },
    };
  }

  get email() { return this.page.customer_email ?? this.known.email ?? null; }

  // canConfirm says that nothing is missing: an open session, an address to write to, and complete elements.
  canConfirm() {
    const on = this.elements.all.filter((e) => e.kind?.pays || e.kind?.gives);
    return this.page.status === "open" && Boolean(this.email) && on.some((e) => e.kind.pays) && on.every((e) => e.state.complete || e.type === "linkAuthentication");
  }

  changed() {
    if (!this.page) return;
    const session = this.session(), text = JSON.stringify(session);
    if (text === this.told) return;
    this.told = text;
    for (const handler of [...this.#handlers]) handler(session);
  }

  on(event, handler) { if (event === "change") this.#handlers.push(handler); return this; }
  off(event, handler) { this.#handlers = this.#handlers.filter((h) => h !== handler); return this; }

  changeAppearance(appearance) { this.elements.update({ appearance }); }
  loadFonts(fonts) { this.elements.update({ fonts }); }

  async loadActions() {
    try {
      await this.loaded;
    } catch (problem) {
      return failed(problem.code ?? null, problem.message);
    }
    return { type: "success", actions: this.actions() };
  }

  // told says what has come of a change that was made here.
  done() { this.changed(); return { type: "success", session: this.session() }; }

  actions() {
    const missing = (what) => async () => failed(null, `${what} is not available in this test environment.`);
    const known = (name, value) => { this.known[name] = value; return this.done(); };
    return {
      getSession: () => this.session(),
      updateEmail: async (email) => {
        if (!email) return failed("incompleteEmail", "Your email is incomplete.");
        return looksLikeEmail(email) ? known("email", email) : failed("invalidEmail", "Your email is invalid.");
      },
      updatePhoneNumber: async (number) => known("phoneNumber", number),
      updateBillingAddress: async (contact) => known("billingAddress", contact),
      updateShippingAddress: async (contact) => known("shippingAddress", contact),
      updateShippingOption: async (rate) => {
        return this.ship(rate) ? this.done() : failed(null, `No such shipping option: ${rate}`);
      },
      applyPromotionCode: async (code) => (typeof code === "string" && code.trim() ? this.redeem(code.trim()) : failed("invalidCode", "The promotion code is empty.")),
      removePromotionCode: async () => this.redeem(""),
      updateLineItemQuantity: ({ lineItem, quantity } = {}) => this.adjust(lineItem, quantity),
      updateTaxIdInfo: missing("A tax ID"),
      runServerUpdate: async (update) => {
        await update();
        await this.refresh();
        return this.done();
      },
      validateElements: async () => {
        const { error } = await this.elements.collect();
        return error ? failed(error.code, error.message) : { type: "success" };
      },
      confirm: (options) => this.pay(options),
    };
  }

  // pay is confirm(). In basil the actions are functions of the checkout, so it has another name.
  pay(options = {}) {
    return once(this.id, async () => {
      if (options.email) this.known.email = options.email;
      if (!this.email) return failed("incompleteEmail", "Your email is incomplete.");
      const payer = this.elements.payer();
      if (!payer) throw new IntegrationError("confirm() needs a mounted payment Element.");
      const { error, billing } = await this.elements.collect();
      if (error) return failed(error.code, error.message);
      const page = this.page, given = options.billingAddress ?? this.known.billingAddress;
      const sent = { email: this.email, expected_amount: page.amount_total ?? undefined, shipping_rate: page.shipping_rate ?? undefined, return_url: options.returnUrl };
      const who = merged({ email: this.email, ...(this.known.phoneNumber && { phone: this.known.phoneNumber }), ...plain(given) }, billing);
      const end = await payer.frame.call("payPage", { session: this.id, params: sent, billing: who, fault: options.acquirerFault });
      if (end.error) {
        await this.refresh().catch(() => {});
        this.changed();
        return failed(end.error.type === "card_error" ? "paymentFailed" : end.error.code ?? null, end.error.message, { paymentFailed: { declineCode: end.error.decline_code ?? null } });
      }
      this.page = end.page;
      if (options.redirect === "if_required" || !end.page.success_url) return this.done();
      return leave(end.page.success_url);
    });
  }

  // create makes an element of this session, once.
  create(type, options = {}) {
    if (type === "currencySelector") this.loaded.then(() => this.getElement(type)?.update({ currency: this.page.currency }), () => {});
    return this.elements.create(type, options);
  }

  getElement(type, options) { return this.elements.getElement(type, options); }
  createElement(type, options) { return this.create(type, options); }

  createPaymentElement(options) { return this.create("payment", options); }
  createBillingAddressElement(options) { return this.create("address", { ...options, mode: "billing" }); }
  createShippingAddressElement(options) { return this.create("address", { ...options, mode: "shipping" }); }
  createCurrencySelectorElement() { return this.create("currencySelector"); }
  createExpressCheckoutElement(options) { return this.create("expressCheckout", options); }
  createContactDetailsElement() { return this.create("contactDetails"); }
  createTermsElement() { return this.create("terms"); }
  createLinkSignupElement() { return this.create("linkSignup"); }
  createTaxIdElement(options) { return this.create("taxId", options); }

  getPaymentElement() { return this.getElement("payment"); }
  getBillingAddressElement() { return this.getElement("address", { mode: "billing" }); }
  getShippingAddressElement() { return this.getElement("address", { mode: "shipping" }); }
  getCurrencySelectorElement() { return this.getElement("currencySelector"); }
  getExpressCheckoutElement() { return this.getElement("expressCheckout"); }
}

// EmbeddedCheckout is the hosted page in a frame.
class EmbeddedCheckout {
  constructor(session, onComplete) { Object.assign(this, { session, onComplete }); }

  mount(target) {
    const container = typeof target === "string" ? document.querySelector(target) : target;
    if (this.destroyed) throw new IntegrationError("This Embedded Checkout has already been destroyed. Please create a new one.");
    if (!(container instanceof Element)) throw new IntegrationError("Invalid DOM element. Call mount() with either a valid DOM element or selector.");
    this.unmount();
    const style = "border: 0; width: 100%; min-height: 30rem; display: block;";
    this.frame = new Frame({ name: "embedded-checkout", path: `/c/pay/${this.session}`, title: "Secure checkout", options: {}, style });
    this.frame.on("height", (height) => { if (this.frame) this.frame.iframe.style.height = `${height}px`; });
    this.frame.on("complete", ({ url }) => (this.onComplete ? this.onComplete() : url && leave(url)));
    container.replaceChildren(this.frame.iframe);
  }

  unmount() { this.frame?.remove(); this.frame = undefined; }
  destroy() { this.unmount(); this.destroyed = true; }
}

const renamed = (old, now) => { throw new IntegrationError(`stripe.${old}() is not part of this release of Stripe.js (${train}). Use stripe.${now}().`); };

const checkouts = {
  initCheckoutElementsSdk(options = {}) {
    if (!since("dahlia")) renamed("initCheckoutElementsSdk", "initCheckout");
    return new Checkout(this, options);
  },

  initCheckout(options = {}) {
    if (since("dahlia")) renamed("initCheckout", "initCheckoutElementsSdk");
    const checkout = new Checkout(this, options);
    if (since("clover")) return checkout;
    return checkout.loaded.then(() => Object.assign(checkout, checkout.actions()));
  },

  async createEmbeddedCheckoutPage(options = {}) {
    if (!since("dahlia")) renamed("createEmbeddedCheckoutPage", "initEmbeddedCheckout");
    return new EmbeddedCheckout(sessionOf(await (options.clientSecret ?? options.fetchClientSecret?.())), options.onComplete);
  },

  async initEmbeddedCheckout(options = {}) {
    if (since("dahlia")) renamed("initEmbeddedCheckout", "createEmbeddedCheckoutPage");
    return new EmbeddedCheckout(sessionOf(await (options.clientSecret ?? options.fetchClientSecret?.())), options.onComplete);
  },

  async redirectToCheckout({ sessionId } = {}) {
    if (since("clover")) throw new IntegrationError(`stripe.redirectToCheckout() is not part of this release of Stripe.js (${train}). Go to the url of the Checkout Session.`);
    if (!sessionId) return unavailable("redirectToCheckout() without a sessionId");
    const { error, page } = await this.controller.call("page", { session: sessionId });
    if (error) return { error };
    return page.url ? leave(page.url) : { error: { type: "invalid_request_error", message: `The Checkout Session ${sessionId} is ${page.status}.` } };
  },
};
