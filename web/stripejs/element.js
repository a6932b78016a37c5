// kinds are the elements there are: the page of the frame, the frame's title, and what the
// element has before anything is typed. The others say in their place that they are not here.
const kinds = {
  payment: { page: "elements-inner-payment", title: "Secure payment input frame", start: { collapsed: false, value: { type: "card" } }, pays: true },
  card: { page: "elements-inner-card", title: "Secure card payment input frame", start: { brand: "unknown", value: { postalCode: "" } }, pays: true },
  cardNumber: { page: "elements-inner-card-part", title: "Secure card number input frame", start: { brand: "unknown" }, pays: true },
  cardExpiry: { page: "elements-inner-card-part", title: "Secure expiration date input frame" },
  cardCvc: { page: "elements-inner-card-part", title: "Secure CVC input frame" },
  linkAuthentication: { page: "elements-inner-link-authentication", title: "Secure email input frame", start: { value: { email: "" } }, gives: true },
  address: { page: "elements-inner-address", title: "Secure address input frame", start: { isNewAddress: true }, gives: true },
  currencySelector: { page: "elements-inner-currency-selector", title: "Secure currency selector" },
};

const silent = ["expressCheckout", "terms", "linkSignup", "contactDetails"]; // they may show nothing, as without a wallet
const elsewhere = ["affirmMessage", "afterpayClearpayMessage", "auBankAccount", "epsBank", "fpxBank", "iban", "idealBank", "issuingCardCopyButton", "issuingCardCvcDisplay",
  "issuingCardExpiryDisplay", "issuingCardNumberDisplay", "issuingCardPinDisplay", "p24Bank", "paymentForm", "paymentMethodMessaging", "paymentRequestButton", "taxId"];

// StripeElement is what elements.create returns: the merchant's half of a frame.
class StripeElement {
  #handlers = new Map();

  constructor(group, type, options = {}) {
    Object.assign(this, { group, type, options, frame: undefined, destroyed: false });
    this.kind = kinds[type];
    this._elementType = type;
    this.reset();
  }

  reset() {
    this.state = { elementType: this.type, empty: true, complete: false, error: undefined, ...this.kind?.start };
    this.brands = [];
  }

  alive() {
    if (this.destroyed) throw new IntegrationError("This Element has already been destroyed. Please create a new one.");
  }

  mount(target) {
    this.alive();
    const container = typeof target === "string" ? document.querySelector(target) : target;
    if (typeof target === "string" && !container) {
      throw new IntegrationError(`The selector you specified (${target}) applies to no DOM elements that are currently on the page. Make sure the element exists on the page before calling mount().`);
    }
    if (!(container instanceof Element)) throw new IntegrationError("Invalid DOM element. Call mount() with either a valid DOM element or selector.");
    if (container === this.container && this.frame) return this;
    this.unmount();
    this.container = container;
    container.classList.add(this.classes.base);
    this.reset();
    this.mark();
    const box = document.createElement("div");
    box.className = "__PrivateStripeElement";
    box.style.cssText = "margin: 0; padding: 0; border: none; display: block; background: transparent; position: relative; opacity: 1;";
    container.replaceChildren(box);
    if (silent.includes(this.type)) {
      queueMicrotask(() => this.emit("ready", { elementType: this.type, availablePaymentMethods: undefined }));
      return this;
    }
    this.open(box);
    this.onLabel = (event) => {
      const label = event.target.closest?.("label[for]");
      if (label && container.id && label.htmlFor === container.id) { event.preventDefault(); this.focus(); }
    };
    document.addEventListener("click", this.onLabel);
    return this;
  }

  open(box) {
    const kind = this.kind ?? { page: "elements-inner-unavailable", title: "Unavailable payment method" };
    this.frame = new Frame({ path: `/v3/${kind.page}.html`, title: kind.title, options: { ...this.group.frameOptions(), type: this.type, options: plain(this.options) } });
    this.frame
      .on("ready", () => { this.ready = true; this.emit("ready", { elementType: this.type }); })
      .on("height", (height) => { if (this.frame) this.frame.iframe.style.height = `${height}px`; })
      .on("change", (change) => this.changed(change))
      .on("focus", () => { this.container?.classList.add(this.classes.focus); this.emit("focus", { elementType: this.type }); })
      .on("blur", () => { this.container?.classList.remove(this.classes.focus); this.emit("blur", { elementType: this.type }); })
      .on("escape", () => this.emit("escape", { elementType: this.type }))
      .on("enter", () => this.submitForm())
      .on("leave", (backwards) => this.neighbor(backwards)?.focus())
      .on("challenge", (options) => this.group.stripe.challenge(options))
      .on("challenged", () => this.group.stripe.challenged())
      .on("loaderror", (event) => this.emit("loaderror", { elementType: this.type, ...event }));
    this.emit("loaderstart", { elementType: this.type });
    box.append(this.frame.iframe);
  }

  unmount() {
    this.alive();
    if (!this.container) return this;
    this.frame?.remove();
    document.removeEventListener("click", this.onLabel);
    this.container.classList.remove(...Object.values(this.classes));
    this.container.replaceChildren();
    Object.assign(this, { frame: undefined, container: undefined, ready: false });
    return this;
  }

  destroy() {
    this.unmount();
    this.destroyed = true;
    this.group.forget(this);
    return this;
  }

  update(options = {}) {
    this.alive();
    this.options = { ...this.options, ...options };
    this.frame?.call("update", { options: plain(this.options) });
    return this;
  }

  focus() { this.alive(); this.frame?.iframe.focus(); this.frame?.call("focus"); return this; }
  blur() { this.alive(); this.frame?.iframe.blur(); this.frame?.call("blur"); return this; }
  clear() { this.alive(); this.frame?.call("clear"); return this; }
  collapse() { this.alive(); return this; }

  on(event, handler) {
    this.alive();
    if (typeof handler !== "function") throw new IntegrationError(`You must pass a function as the second argument to on(), for the event "${event}".`);
    this.#handlers.set(event, [...(this.#handlers.get(event) ?? []), handler]);
    return this;
  }

  once(event, handler) {
    const only = (data) => { this.off(event, only); handler(data); };
    only.of = handler;
    return this.on(event, only);
  }

  off(event, handler) {
    const kept = handler ? (this.#handlers.get(event) ?? []).filter((h) => h !== handler && h.of !== handler) : [];
    this.#handlers.set(event, kept);
    return this;
  }

  addEventListener(event, handler) { return this.on(event, handler); }
  removeEventListener(event, handler) { return this.off(event, handler); }

  emit(event, data) { for (const handler of [...(this.#handlers.get(event) ?? [])]) handler(data); }

  get classes() {
    return { base: "StripeElement", complete: "StripeElement--complete", empty: "StripeElement--empty", focus: "StripeElement--focus", invalid: "StripeElement--invalid",
      webkitAutofill: "StripeElement--webkit-autofill", ...this.options.classes };
  }

  changed({ brands, ...change }) {
    this.state = { ...this.state, ...change, elementType: this.type };
    this.mark();
    this.emit("change", { ...this.state });
    if (brands && String(brands) !== String(this.brands)) this.rebranded(brands);
    this.group.changed(this);
  }

  // rebranded says that the number belongs to other networks than before. The list has one brand, or none.
  rebranded(brands) {
    this.brands = brands;
    if (this.type === "card") this.emit("networkschange", { elementType: this.type });
    if (this.type !== "payment") return;
    this.emit("carddetailschange", { elementType: this.type, loading: false, details: { brands, funding: null } });
  }

  mark() {
    const { complete, empty, error } = this.state, list = this.container.classList, classes = this.classes;
    list.toggle(classes.complete, complete && !error);
    list.toggle(classes.empty, empty);
    list.toggle(classes.invalid, Boolean(error));
  }

  // neighbor is the next of the fields that a card is split into, in the order of the page.
  neighbor(backwards) {
    const parts = this.group.inOrder().filter((e) => ["cardNumber", "cardExpiry", "cardCvc"].includes(e.type));
    return parts[parts.indexOf(this) + (backwards ? -1 : 1)];
  }

  // submitForm does what Enter does in a field of the merchant's own.
  submitForm() {
    const form = this.container?.closest("form");
    form?.requestSubmit(form.querySelector('button:not([type="button"]):not([disabled]), input[type="submit"]') ?? undefined);
  }

  // holdFocus takes the focus to the first wrong field of the frame, and keeps it there. The
  // merchant's button was pressed a moment ago: a browser can give it the focus after the frame
  // has taken it. A press or a key of the customer's ends this at once, here or in the frame.
  async holdFocus() {
    let over = false;
    const end = () => { over = true; }, signs = ["pointerdown", "keydown"];
    for (const sign of signs) addEventListener(sign, end, { capture: true });
    const taken = async () => {
      if (!this.frame) return false;
      if (document.activeElement !== this.frame.iframe) this.frame.iframe.focus();
      return this.frame.call("focusFault");
    };
    await taken();
    (async () => {
      for (let quiet = 0, left = 60; !over && this.frame && quiet < 10 && left > 0; left--) {
        await pause(50);
        if (over || !this.frame) break;
        const held = document.activeElement === this.frame.iframe ? await taken() : (this.frame.iframe.focus(), await taken(), false);
        if (held === "left") break;
        quiet = held ? quiet + 1 : 0;
      }
      for (const sign of signs) removeEventListener(sign, end, { capture: true });
    })();
  }
}

// plain leaves out what cannot be sent to a frame.
const plain = (options) => JSON.parse(JSON.stringify(options ?? {}));
