// What every frame with fields does: it checks them, says what is wrong, and tells the page around
// it what has changed. A field's fault is a code, "" if there is none.
import { emit, fit, focusOn, listen } from "./page.js";
import { appear, style } from "./look.js";
import { say, speak } from "./words.js";
import { watch } from "./api.js";

export class Fields {
  // faultOf(name, field) is what is wrong with a field. describe() is what a change says besides.
  constructor({ names, faultOf, describe = () => ({}) }) {
    Object.assign(this, { form: document.getElementById("fields"), names, faultOf, describe, touched: new Set() });
    this.form.addEventListener("input", (event) => this.typed(event.target));
    this.form.addEventListener("change", (event) => this.typed(event.target));
    this.form.addEventListener("focusout", (event) => { if (event.target.value) this.leave(event.target); });
    listen(this.form);
    for (const sign of ["pointerdown", "keydown"]) document.addEventListener(sign, () => { this.acted = true; }, { capture: true });
    watch.lost = (lost) => { const note = document.querySelector(".lost"); if (note) note.hidden = !lost; };
  }

  // begin shows the frame as its options want it.
  begin({ locale, appearance, options = {} }) {
    speak(locale);
    appear(appearance);
    style(options.style);
    this.restate();
    fit();
    emit("ready");
  }

  field(name) { return this.form.elements[name]; }

  // shown are the names of the fields that are asked for.
  get shown() { return this.names.filter((name) => this.field(name) && !this.field(name).closest("[hidden]")); }

  fault(name) { return this.field(name).disabled ? "" : this.faultOf(name, this.field(name)); }

  typed(field) {
    if (this.touched.has(field.name) && !this.fault(field.name)) this.show(field.name, "");
    this.restate();
    this.tell();
  }

  leave(field) {
    if (!this.shown.includes(field.name)) return;
    this.touched.add(field.name);
    this.show(field.name, this.fault(field.name));
    this.tell();
  }

  show(name, code) {
    const field = this.field(name), text = code ? say(code) : "";
    if (code) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    const place = document.getElementById(`${field.id}-error`) ?? document.getElementById("fault");
    if (place) place.textContent = text;
  }

  restate() {
    for (const name of this.names) {
      const field = this.field(name);
      if (!field) continue;
      field.classList.toggle("empty", !field.value);
      field.classList.toggle("complete", Boolean(field.value) && !this.fault(name));
    }
  }

  // first is the error of the first field that is shown to be wrong.
  first() {
    const name = this.shown.find((n) => this.field(n).getAttribute("aria-invalid"));
    return name && errorOf(this.fault(name) || "incomplete_field");
  }

  get empty() { return this.shown.every((n) => !this.field(n).value || this.field(n).matches("select")); }
  get complete() { return this.shown.every((n) => !this.fault(n)); }

  tell() {
    const now = { empty: this.empty, complete: this.complete, error: this.first(), ...this.describe() };
    const text = JSON.stringify(now);
    if (text !== this.told) emit("change", now);
    this.told = text;
  }

  // check shows everything that is wrong, and returns the first of it.
  check() {
    for (const name of this.shown) { this.touched.add(name); this.show(name, this.fault(name)); }
    this.tell();
    this.wrong = this.shown.find((n) => this.fault(n));
    this.acted = false;
    return this.wrong ? { error: errorOf(this.fault(this.wrong)) } : {};
  }

  // focusFault takes the focus to what check has found. It says whether the focus is there, or "left"
  // if the customer has done something in this frame since.
  focusFault() {
    if (this.acted) return "left";
    const field = this.wrong && this.field(this.wrong);
    if (!field) return "left";
    const held = document.hasFocus() && document.activeElement === field;
    if (!held) { window.focus(); field.focus(); }
    return held;
  }

  clear() {
    for (const name of this.names) {
      const field = this.field(name);
      if (!field || field.matches("select")) continue;
      field.value = "";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      this.show(name, "");
    }
    this.touched.clear();
    this.tell();
  }

  focus() { focusOn(this.field(this.shown[0])); }
  blur() { document.activeElement?.blur(); }

  // methods are what the page around may call in every frame with fields.
  methods() {
    return {
      check: () => this.check(), focusFault: () => this.focusFault(), focus: () => this.focus(), blur: () => this.blur(), clear: () => this.clear(),
      look: ({ locale, appearance }) => { speak(locale); appear(appearance); },
    };
  }
}

export const errorOf = (code) => ({ type: "validation_error", code, message: say(code) });
