// <shop-pay data-key data-secret data-order>: pays for a checkout session on the shop's own page. Stripe.js
// puts the card into a frame of the API's, and repeats a request whose answer is lost.
const chosen = ["colorPrimary", "colorBackground", "colorText", "colorTextSecondary", "colorDanger"];
const tokens = ["--accent", "--surface", "--ink", "--ink-2", "--bad"];

// appearance is how the page looks now, in Stripe.js's words.
function appearance() {
  const probe = document.body.appendChild(document.createElement("span"));
  const color = (token) => { probe.style.color = `var(${token})`; return getComputedStyle(probe).color; };
  const variables = Object.fromEntries(chosen.map((name, at) => [name, color(tokens[at])]));
  probe.remove();
  const dark = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  return { theme: dark === "dark" ? "night" : "stripe", variables: { ...variables, borderRadius: "6px" } };
}

customElements.define("shop-pay", class extends HTMLElement {
  async connectedCallback() {
    this.form = this.querySelector("form");
    this.button = this.form.querySelector("button");
    this.word = this.button.textContent;
    const stripe = Stripe(this.dataset.key);
    this.checkout = stripe.initCheckoutElementsSdk({ clientSecret: this.dataset.secret, elementsOptions: { appearance: appearance() } });
    const element = this.checkout.createPaymentElement(), box = this.querySelector(".payment-element");
    element.on("ready", () => box.removeAttribute("aria-busy"));
    element.mount(box);
    this.followTheme();
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.pay(); });
    const { actions } = await this.loaded();
    if (actions?.getSession().status.type !== "open") location.replace(this.dataset.order);
  }

  // loaded resolves to the session's actions, once the API has said how it stands.
  async loaded() {
    const loaded = await this.checkout.loadActions();
    if (loaded.type === "error") this.say(loaded.error.message);
    return loaded;
  }

  followTheme() {
    const follow = () => this.checkout.changeAppearance(appearance());
    new MutationObserver(follow).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", follow);
  }

  async pay() {
    if (this.paying) return;
    this.busy(true);
    this.say("");
    const problem = await this.confirm();
    this.say(problem.message);
    this.busy(false);
    if (problem.code?.endsWith("Email")) this.form.elements.email.focus();
  }

  // confirm returns what is wrong. After a payment it does not return: Stripe.js goes to the order.
  async confirm() {
    const { actions, error } = await this.loaded();
    if (error) return error;
    const email = await actions.updateEmail(this.form.elements.email.value.trim());
    if (email.type === "error") return email.error;
    const paid = await actions.confirm();
    return paid.error ?? {};
  }

  busy(now) {
    this.paying = now;
    this.button.setAttribute("aria-disabled", String(now));
    this.button.textContent = now ? this.button.dataset.busy : this.word;
  }

  say(text) {
    const box = this.querySelector("[role=alert]");
    box.textContent = text ?? "";
    box.hidden = !text;
  }
});
