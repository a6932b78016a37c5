// <theme-button>: automatic, light, dark. The choice is a cookie, so that the
// server writes it into the page and nothing flickers.
const order = ["auto", "light", "dark"];
const words = { auto: "as the system", light: "light", dark: "dark" };

customElements.define("theme-button", class extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    const now = () => document.documentElement.dataset.theme || "auto";
    const tell = () => {
      button.setAttribute("aria-label", `Colors: ${words[now()]}. Change.`);
      button.title = `Colors: ${words[now()]}`;
      for (const icon of button.querySelectorAll("[data-for]")) icon.toggleAttribute("hidden", icon.dataset.for !== now());
    };
    button.addEventListener("click", () => {
      const next = order[(order.indexOf(now()) + 1) % order.length];
      if (next === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = next;
      document.cookie = `ratchet_theme=${next}; path=/; max-age=31536000; samesite=lax`;
      tell();
    });
    tell();
  }
});
