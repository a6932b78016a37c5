// <search-palette>: Ctrl K, or /, opens a search that lists what it finds while one types. The focus stays in the field,
// and the arrows move through the list: the combobox pattern of ARIA. The server writes the list. Its page of
// results works without this file.
const pause = 150; // milliseconds after the last key
const kept = 6; // recent objects
const store = "ratchet-recent";

const object = /^\/dashboard\/(payments|customers|checkout|links|products|disputes|payouts|ledger|requests|events|webhooks)\/([^/]+)$/;

// A browser may keep its storage from pages: then nothing is recent.
function recent() {
  try { return JSON.parse(localStorage.getItem(store)) ?? []; } catch { return []; }
}
function keep(all) {
  try { localStorage.setItem(store, JSON.stringify(all)); } catch { /* nothing is kept */ }
}

function visit() {
  const found = location.pathname.match(object);
  if (!found || document.querySelector("main .page-head") === null) return;
  const title = document.title.replace(/ · Ratchet$/, ""), id = decodeURIComponent(found[2]);
  const now = { href: location.pathname, title, id: title.includes(id) ? "" : id };
  keep([now, ...recent().filter((other) => other.href !== now.href)].slice(0, kept));
}
visit();
document.addEventListener("submit", (event) => {
  if (event.target.matches('form[action="/dashboard/logout"]')) keep([]); // the next reader is somebody else
});

customElements.define("search-palette", class extends HTMLElement {
  connectedCallback() {
    [this.dialog, this.keys] = this.querySelectorAll("dialog");
    this.input = this.querySelector("input");
    this.list = this.querySelector("[role=listbox]");
    for (const link of document.querySelectorAll("[data-opens-search]")) {
      link.addEventListener("click", (event) => { event.preventDefault(); this.open(); });
    }
    for (const button of this.querySelectorAll("[data-opens-keys]")) button.addEventListener("click", () => this.help());
    for (const dialog of [this.dialog, this.keys]) {
      dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    }
    document.addEventListener("keydown", (event) => this.shortcut(event));
    this.input.addEventListener("keydown", (event) => this.move(event));
    this.input.addEventListener("input", () => this.later());
    this.addEventListener("found", (event) => { if (!this.dataset.results) this.shown = event.detail; this.dress(); }); // find.js
  }

  shortcut(event) {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    const plain = !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
    if ((event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && plain)) {
      event.preventDefault();
      this.open();
    } else if (event.key === "?" && plain) {
      event.preventDefault();
      this.help();
    }
  }

  open() {
    this.keys.close();
    if (!this.dialog.open) this.dialog.showModal();
    this.input.select();
    if (this.shown === undefined) this.find();
  }

  help() {
    this.dialog.close();
    if (!this.keys.open) this.keys.showModal();
  }

  later() {
    this.moved = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.find(), pause);
  }

  async find() {
    if (!this.dataset.results) return;
    const words = this.input.value.trim(), results = this.list.querySelector(".results");
    try {
      const answer = await fetch(this.dataset.results + encodeURIComponent(words), { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.getElementById("results");
      if (!answer.ok || !found || words !== this.input.value.trim()) return; // something else has been typed since
      results.replaceChildren(...found.children);
      this.shown = words;
      this.remember(words);
      this.dress();
    } catch { /* the form still leads to the page */ }
  }

  // remember lists what was open lately while nothing is typed.
  remember(words) {
    const place = this.list.querySelector(".recent"), all = words === "" ? recent() : [];
    place.replaceChildren();
    if (all.length === 0) return;
    const section = document.createElement("section"), head = document.createElement("h2"), list = document.createElement("ul");
    head.textContent = "Recent";
    list.className = "hits";
    for (const { href, title, id } of all) {
      const row = document.createElement("li"), link = document.createElement("a"), name = document.createElement("span"), note = document.createElement("span");
      if (!object.test(href)) continue;
      link.href = href;
      name.textContent = title;
      note.textContent = id;
      note.className = "mono small muted";
      link.append(name, note);
      row.append(link);
      list.append(row);
    }
    section.append(head, list);
    place.append(section);
  }

  // dress makes options of the links that the list has now.
  dress() {
    this.options = [...this.list.querySelectorAll("a")];
    for (const it of this.list.querySelectorAll("ul, li, h2, docs-results > p")) it.setAttribute("role", "presentation");
    for (const section of this.list.querySelectorAll("section")) {
      section.setAttribute("role", "group");
      section.setAttribute("aria-label", section.querySelector("h2").textContent);
    }
    this.options.forEach((link, i) => {
      link.id = `option-${i}`;
      link.setAttribute("role", "option");
      link.setAttribute("aria-selected", "false");
      link.tabIndex = -1;
    });
    this.list.hidden = this.options.length === 0;
    this.querySelector(".none").hidden = !this.list.hidden || this.input.value.trim() === "";
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.querySelector("[role=status]").textContent = this.options.length === 1 ? "1 result" : `${this.options.length} results`;
    const kept = this.moved && this.options.includes(this.chosen); // else the first: the documentation may have answered before
    this.choose(kept ? this.chosen : this.input.value.trim() && this.options[0]);
  }

  choose(option) {
    this.chosen?.setAttribute("aria-selected", "false");
    this.chosen = option || undefined;
    if (!option) { this.input.removeAttribute("aria-activedescendant"); return; }
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", option.id);
  }

  move(event) {
    const all = this.options ?? [], at = all.indexOf(this.chosen);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.moved = true;
      this.choose(all[at < 0 ? (step > 0 ? 0 : all.length - 1) : (at + step + all.length) % all.length]);
    } else if (event.key === "Enter" && this.chosen && (this.moved || this.shown === this.input.value.trim())) {
      event.preventDefault(); // else the form leads to the page of results
      this.dialog.close();
      this.chosen.click();
    }
  }
});
