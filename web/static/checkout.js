// The page that pays works without this file. What it adds: a card that is
// grouped while it is typed, the bank's page in a frame, and patience. One press
// of the button has one idempotency key, and is sent again under that key until
// an answer comes.
import "./bank.js";
import "./copy.js";
import "./pay.js";
import "./wait.js";

customElements.define("print-button", class extends HTMLElement {
  connectedCallback() {
    this.querySelector("button").addEventListener("click", () => print());
  }
});

// Out of the browser's memory, a page shows what was: the server knows what is.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
