// <checkout-form>: the form of the checkout page.
import { bindCvc, bindExpiry, bindNumber } from "./card-input.js";
import { cvcFault, expiryFault, numberFault } from "./card.js";
import { ask, pause } from "./wait.js";

// How long to wait before asking again, in milliseconds: a little longer each time.
const readable = 2500; // milliseconds that a notice takes to be read
const waits = [300, 600, 1000, 2000, 3000];
const again = 3000; // milliseconds that a frame has to load
const remembered = ["email", "billingName", "billingCountry", "billingPostalCode"];
const store = "ratchet_buyer"; // who, never the card

// broken says that a frame, or one in it, shows the browser's own page about a
// server that did not answer: nobody may look into that one. The server may be
// back before anything else has noticed that it was away.
function broken(frame) {
  const inside = frame.contentDocument;
  return !inside || [...inside.querySelectorAll("iframe")].some(broken);
}

customElements.define("checkout-form", class extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form#payment");
    this.words = JSON.parse(this.dataset.words);
    this.fields = this.form.querySelector("fieldset.fields");
    this.button = this.form.querySelector(".submit");
    this.verdict = this.form.querySelector("#verdict");
    this.lost = this.form.querySelector(".lost");
    this.lostAt = 0; // when the connection was last lost
    this.dialog = this.querySelector("dialog.bank");
    this.verb = this.button.innerHTML;
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.pay(); });
    this.wanted = new Map(); // the quantities that are not sent yet, by item
    this.changes = (event) => {
      const form = event.target.closest("form.promotion, form.quantity");
      if (!form) return;
      if (event.type === "submit") event.preventDefault();
      if (form.matches(".quantity")) this.adjust(form, event.submitter);
      else if (event.type === "submit") this.code(form, event.submitter);
    };
    for (const type of ["submit", "change"]) document.addEventListener(type, this.changes);
    this.numberTyped = bindNumber(this.field("cardNumber"), (brand) => this.brandFound(brand));
    bindExpiry(this.field("cardExpiry"));
    bindCvc(this.field("cardCvc"));
    this.field("billingCountry").addEventListener("change", () => { this.postalCode(); this.say("billingPostalCode", ""); });
    for (const option of this.form.querySelectorAll('[name="shipping"]')) {
      option.addEventListener("change", () => this.ship(option.dataset));
    }
    this.form.addEventListener("focusout", (event) => this.left(event.target));
    this.addEventListener("pointerdown", () => {
      this.pressed = true;
      addEventListener("pointerup", () => setTimeout(() => { this.pressed = false; }), { once: true });
    });
    this.form.addEventListener("input", (event) => this.mend(event.target));
    for (const use of this.form.querySelectorAll("[data-number]")) {
      use.hidden = false;
      use.addEventListener("click", () => this.fill(use.dataset));
    }
    this.form.querySelector(".slow")?.addEventListener("change", (event) => {
      this.field("bank_fault").value = event.target.checked ? this.form.querySelector(".crash").dataset.slow : "";
    });
    for (const victim of this.form.querySelectorAll("[data-crash]")) victim.addEventListener("click", () => this.kill(victim));
    this.remember();
    this.postalCode();
    this.numberTyped();
  }

  disconnectedCallback() {
    this.gone = true;
    for (const type of ["submit", "change"]) document.removeEventListener(type, this.changes);
  }

  field(name) { return this.form.elements[name]; }

  // While something is typed

  brandFound({ word, cvc }) {
    const badge = this.form.querySelector(".brand");
    if (badge.textContent !== word) badge.textContent = word;
    this.field("cardCvc").placeholder = this.words[cvc === 4 ? "four_digits" : "cvc"];
  }

  // A postal code is asked for where banks check one.
  postalCode() {
    const country = this.field("billingCountry").value, box = this.form.querySelector('[data-field="billingPostalCode"]');
    box.hidden = !["US", "GB", "CA"].includes(country) && !this.field("billingAddressLine1");
    box.querySelector("label").textContent = this.words[country === "US" ? "zip" : "postal_code"];
  }

  // ship shows what the order costs with the shipping that was chosen.
  ship({ name, cost, amount, total, verb }) {
    const shown = { name, cost, total };
    for (const place of document.querySelectorAll("[data-shipping]")) place.textContent = shown[place.dataset.shipping];
    this.field("total").value = amount;
    this.button.querySelector(".verb").textContent = verb;
    this.verb = this.button.innerHTML;
  }

  // code sends a promotion code, or that it is removed.
  code(form, submitter) {
    if (!this.busy) this.change(form.action, new FormData(form, submitter));
  }

  // adjust shows a quantity at once, and sends it. Quantities that are chosen meanwhile are sent after it.
  adjust(form, submitter) {
    const box = form.elements.quantity, item = form.elements.line_item.value, step = Number(submitter?.value || 0);
    const wanted = Math.min(Math.max(Number(box.value) + step, box.min), box.max);
    if (this.busy || !box.value || !Number.isInteger(wanted)) { box.value = box.defaultValue; return; }
    box.value = wanted;
    this.wanted.set(item, wanted);
    this.adjusting ??= this.sendQuantities(form.action).finally(() => { this.adjusting = undefined; });
  }

  async sendQuantities(action) {
    for (const [item, quantity] of this.wanted) {
      this.wanted.delete(item);
      if (!await this.change(action, [["line_item", item], ["quantity", quantity]])) { this.wanted.clear(); return; }
      for (const form of document.querySelectorAll("form.quantity")) {
        form.elements.quantity.value = this.wanted.get(form.elements.line_item.value) ?? form.elements.quantity.value;
      }
    }
  }

  // change sends a change to the order, and takes the totals from the page that comes back. What was typed into the form
  // stays.
  async change(action, fields) {
    const sent = { method: "POST", body: new URLSearchParams(fields), signal: AbortSignal.timeout(45_000) };
    const text = await fetch(action, sent).then((answer) => answer.text(), () => undefined);
    if (this.busy || this.gone) return false;
    if (text === undefined) { this.tell(this.words.connection_lost); return false; }
    const page = new DOMParser().parseFromString(text, "text/html"), now = page.querySelector("form#payment");
    if (!now) { location.reload(); return false; } // the session is not open any more
    this.order(page.querySelector(".order"));
    for (const option of this.form.querySelectorAll('[name="shipping"]')) {
      Object.assign(option.dataset, now.querySelector(`[name="shipping"][value="${option.value}"]`).dataset);
    }
    this.field("total").value = now.elements.total.value;
    this.button.innerHTML = this.verb = now.querySelector(".submit").innerHTML;
    const chosen = this.form.querySelector('[name="shipping"]:checked');
    if (chosen) this.ship(chosen.dataset);
    return true;
  }

  // order puts the order that came back in place of the old one. The focus stays on the same control, or on one beside it.
  order(next) {
    const last = document.querySelector(".order"), held = last.contains(document.activeElement) ? document.activeElement : null;
    const folded = last.querySelector(".more");
    if (folded) next.querySelector(".more").open = folded.open;
    last.replaceWith(next);
    if (!held?.form) return;
    const item = (form) => form.action + form.elements.line_item?.value;
    const form = [...next.querySelectorAll("form")].find((f) => item(f) === item(held.form));
    const all = [...(form?.elements ?? [])].filter((c) => !c.disabled && c.tabIndex >= 0 && c.type !== "hidden");
    (all.find((c) => c.name === held.name && (c.type !== "submit" || c.value === held.value)) ?? all.find((c) => c.type !== "submit") ?? all[0])?.focus();
  }

  fill({ number, cvc }) {
    if (this.busy) return;
    const year = String(new Date().getUTCFullYear() + 2).slice(2);
    const values = { cardNumber: number, cardExpiry: `12 / ${year}`, cardCvc: cvc };
    const ifEmpty = { email: "jenny@example.com", billingName: "Jenny Rosen", billingPostalCode: "94107", billingAddressLine1: "510 Townsend St", billingLocality: "San Francisco", billingAdministrativeArea: "CA", phoneNumber: "+1 415 555 0100" };
    for (const [name, value] of Object.entries(ifEmpty)) if (this.field(name) && !this.field(name).value) values[name] = value;
    for (const [name, value] of Object.entries(values)) {
      this.field(name).value = value;
      this.say(name, "");
    }
    this.numberTyped();
    this.verdict.hidden = true;
    this.button.focus();
    this.button.scrollIntoView({ block: "nearest" });
  }

  // What is wrong

  // faultOf is what is wrong with a field, in the page's language; "" for nothing.
  faultOf(name) { return this.words[this.faultKey(name)] ?? ""; }

  faultKey(name) {
    const field = this.field(name), text = field.value.trim();
    switch (name) {
      case "email": return field.readOnly || /^[^\s@<>]+@[^\s@<>]+$/.test(text) ? "" : "incomplete_email";
      case "cardNumber": return numberFault(text);
      case "cardExpiry": return expiryFault(text);
      case "cardCvc": return cvcFault(text, this.field("cardNumber").value);
      case "billingPostalCode": return this.postalFault(this.field("billingCountry").value, text);
    }
    const missing = { billingName: "missing_name", billingAddressLine1: "missing_street", billingLocality: "missing_city", phoneNumber: "missing_phone" };
    return text ? "" : missing[name] ?? "";
  }

  postalFault(country, text) {
    if (country === "US") return /^[0-9]{5}([- ]?[0-9]{4})?$/.test(text) ? "" : "incomplete_zip";
    return ["GB", "CA"].includes(country) && !text ? "incomplete_postal_code" : "";
  }

  check(field) {
    const fault = this.faultOf(field.name);
    this.say(field.name, fault);
    return fault;
  }

  // left checks a field that is being left. Not while something is being pressed:
  // a complaint that appears would move the button away from under the pointer.
  left(field) {
    if (!field.matches(".field input") || !field.value) return;
    if (!this.pressed) { this.check(field); return; }
    addEventListener("pointerup", () => setTimeout(() => {
      if (!this.busy && field !== document.activeElement) this.check(field);
    }), { once: true });
  }

  // mend takes a complaint back as soon as it is not true any more, and makes no new one.
  mend(field) {
    if (field.getAttribute?.("aria-invalid") && !this.faultOf(field.name)) this.say(field.name, "");
  }

  say(name, fault) {
    const field = this.field(name);
    document.getElementById(`${name}-error`).textContent = fault;
    if (fault) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }

  complain(faults) {
    for (const [name, fault] of Object.entries(faults)) this.say(name, fault);
    const first = [...this.form.elements].find((field) => faults[field.name]);
    const list = document.createElement("ul");
    for (const [name, fault] of Object.entries(faults)) {
      const link = document.createElement("a");
      link.href = `#${name}`;
      link.textContent = fault;
      link.addEventListener("click", (event) => { event.preventDefault(); this.field(name).focus(); });
      list.append(document.createElement("li"));
      list.lastChild.append(link);
    }
    const title = document.createElement("strong");
    title.textContent = this.words.check_details;
    this.tell(title, list);
    first?.focus();
  }

  tell(...what) {
    this.verdict.className = "notice bad";
    this.verdict.lastElementChild.replaceChildren(...what);
    this.verdict.hidden = false;
  }

  // Paying

  async pay() {
    await this.adjusting;
    if (this.busy) return;
    const faults = {};
    for (const field of this.form.querySelectorAll(".field input")) {
      const fault = field.closest("[hidden]") ? "" : this.check(field);
      if (fault) faults[field.name] = fault;
    }
    if (Object.keys(faults).length) { this.complain(faults); return; }
    this.keep();
    const body = new URLSearchParams(new FormData(this.form));
    if (this.form.querySelector('[data-field="billingPostalCode"]').hidden) body.delete("billingPostalCode");
    this.lock(true);
    const end = await this.send(body);
    body.forEach((_, name) => body.set(name, "")); // the number is in the field, and nowhere else any more
    await this.arrive(end);
  }

  // kill ends a process of the demo, while the card is charged.
  async kill(victim) {
    victim.disabled = true;
    victim.textContent = "Killed";
    await ask(`${this.form.action}/kill`, { method: "POST", body: new URLSearchParams({ crash: victim.dataset.crash }) });
  }

  // step marks a step of the way back from a lost connection as done.
  step(name) { this.lost.querySelector(`[data-step="${name}"]`).classList.add("done"); }

  // send sends one attempt until somebody says how it ended.
  async send(body) {
    for (let tries = 0; !this.gone; tries++) {
      const end = await ask(this.form.action, { method: "POST", body });
      if (end && !end.unknown) { await this.noticed(); this.lost.hidden = end.state !== "complete" || !this.lostAt; return end; }
      body.delete("bank_fault"); // it was wished for once: asked for with every try, it would never end
      this.reconnecting(end);
      await pause(waits[Math.min(tries, waits.length - 1)]);
      this.step("again");
    }
    return {};
  }

  // reconnecting says why it takes longer. That the connection was lost stays long enough
  // to be read, also if the server is back at once.
  reconnecting(end) {
    if (!end) { this.lostAt = Date.now(); this.step("lost"); }
    const lost = Date.now() - this.lostAt < readable;
    this.lost.querySelector(".says").textContent = lost ? this.words.connection_lost : end.message || this.words.still_confirming;
    this.lost.hidden = false;
    this.busyWith(this.words.confirming);
  }

  // noticed waits until a lost connection has been shown long enough to be read.
  noticed() { return pause(Math.max(0, readable - (Date.now() - this.lostAt))); }

  async arrive(end) {
    switch (end.state) {
      case "complete": return this.paid(end);
      case "challenge": return this.challenge(end);
      case "processing": return this.follow();
      case "expired": case "missing": return location.reload();
      case "open": return this.declined(end);
    }
  }

  // follow waits for what another tab, or the bank, has begun.
  async follow() {
    for (let tries = 0; !this.gone; tries++) {
      const now = await ask(this.form.dataset.state);
      if (now && now.state !== "processing") { await this.noticed(); this.lost.hidden = now.state !== "complete" || !this.lostAt; return this.arrive(now); }
      if (now) this.step("again"); else this.reconnecting();
      await pause(waits[Math.min(tries, waits.length - 1)]);
    }
  }

  declined(end) {
    this.lock(false);
    this.field("attempt").value = end.attempt;
    this.lost.querySelector(".key").textContent = end.key;
    if (end.faults && Object.keys(end.faults).length) { this.complain(end.faults); return; }
    this.field("cardCvc").value = "";
    this.tell(end.message || this.words.payment_failed);
    this.field("cardNumber").setAttribute("aria-invalid", "true");
    this.field("cardNumber").focus({ preventScroll: true });
    this.verdict.scrollIntoView({ block: "nearest" });
  }

  paid(end) {
    this.button.classList.add("paid");
    this.button.replaceChildren(this.querySelector("template.paid").content.cloneNode(true));
    for (const name of ["cardNumber", "cardExpiry", "cardCvc"]) this.field(name).value = "";
    this.step("paid");
    if (!this.dispatchEvent(new CustomEvent("paid", { bubbles: true, cancelable: true, detail: end.next }))) return; // the page around this frame goes on
    setTimeout(() => location.assign(end.next), this.lostAt ? 1800 : 700); // the third step is to be read, too
  }

  // challenge shows the bank's page in a frame, and looks how the session stands
  // until the cardholder has decided there, or has called it off.
  async challenge({ frame, decide }) {
    this.busyWith(this.words.waiting_for_bank);
    const page = document.createElement("iframe");
    page.name = "__privateStripeFrame1";
    page.title = this.words.bank_page;
    page.src = frame;
    this.dialog.querySelector("iframe")?.remove();
    this.dialog.append(page);
    let over = false, off = false;
    const cancel = () => { if (!over) off = true; };
    this.dialog.addEventListener("close", cancel, { once: true });
    this.dialog.showModal();
    let now, asked = 0; // when the frame was last asked for again
    for (let tries = 0; !this.gone; tries++) {
      if (off) await ask(`${decide}?framed`, { method: "POST", body: new URLSearchParams({ result: "fail" }) });
      now = await ask(this.form.dataset.state);
      if (now && now.state !== "challenge" && now.state !== "processing") break;
      if (!now) this.reconnecting();
      else if (now.state === "challenge") {
        this.lost.hidden = true; // a page that is still there sends what its cardholder decided
        if (broken(page) && Date.now() - asked > again) { asked = Date.now(); page.src = frame; }
      }
      await pause(now ? 500 : waits[Math.min(tries, waits.length - 1)]);
    }
    over = true;
    this.lost.hidden = true;
    this.dialog.close();
    page.remove();
    if (now) await this.arrive(now);
  }

  lock(locked) {
    this.busy = locked;
    if (locked && this.fields.contains(document.activeElement)) this.button.focus({ preventScroll: true }); // a field that is locked loses it to nobody
    this.fields.disabled = locked;
    this.verdict.hidden = true;
    for (const victim of this.form.querySelectorAll("[data-crash]")) victim.disabled = !locked;
    if (locked) {
      this.button.setAttribute("aria-disabled", "true");
      this.busyWith(this.words.processing);
    } else {
      this.button.removeAttribute("aria-disabled");
      this.button.classList.remove("busy");
      this.button.innerHTML = this.verb;
    }
  }

  busyWith(words) {
    if (this.button.textContent === words) return;
    const verb = document.createElement("span"), spinner = document.createElement("span");
    verb.className = "verb";
    spinner.className = "spinner";
    spinner.setAttribute("aria-hidden", "true");
    verb.append(spinner, words);
    this.button.classList.add("busy");
    this.button.replaceChildren(verb);
  }

  // Who somebody is can be kept in this browser, if he wants that.

  remember() {
    const wish = this.form.querySelector("#enableStripePass");
    let known = {};
    try { known = JSON.parse(localStorage.getItem(store) ?? "{}"); } catch { /* no storage, or none of ours */ }
    wish.checked = Object.keys(known).length > 0;
    for (const name of remembered) {
      const field = this.field(name);
      if (known[name] && !field.readOnly && (!field.value || field.matches("select"))) field.value = known[name];
    }
  }

  keep() {
    const wish = this.form.querySelector("#enableStripePass");
    try {
      if (wish.checked) localStorage.setItem(store, JSON.stringify(Object.fromEntries(remembered.map((name) => [name, this.field(name).value]))));
      else localStorage.removeItem(store);
    } catch { /* a browser that keeps nothing keeps nothing */ }
  }
});
