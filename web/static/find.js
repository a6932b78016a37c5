// <docs-results>, in the search dialog: what the documentation has, while words are
// typed, among the options of palette.js. It shows the results of the search page, which works without this file.
const enough = 2, most = 8, pause = 150; // characters, results, milliseconds

customElements.define("docs-results", class extends HTMLElement {
  connectedCallback() {
    const input = this.closest("dialog").querySelector("input[type=search]");
    input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.find(input.value.trim()), pause);
    });
  }

  async find(words) {
    this.words = words;
    if (words.length < enough) { this.show(); return; }
    try {
      const answer = await fetch(`/docs/search?q=${encodeURIComponent(words)}`, { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!answer.ok || words !== this.words) return; // something else has been typed since
      const found = page.getElementById("found");
      for (const extra of [...(found?.children ?? [])].slice(most)) extra.remove();
      found?.removeAttribute("id");
      this.show(found);
    } catch { /* the form still leads to the page */ }
  }

  show(found) {
    const section = document.createElement("section"), head = document.createElement("h2");
    head.textContent = "Documentation";
    if (found) section.append(head, found);
    this.replaceChildren(...(found?.matches("ul") ? [section] : []));
    this.dispatchEvent(new CustomEvent("found", { bubbles: true, detail: this.words })); // palette.js
  }
});
