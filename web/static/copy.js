// <copy-button data-text="…">: copies and says so. Without data-text it copies
// the code block it stands in.
customElements.define("copy-button", class extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    if (!button || !navigator.clipboard) return;
    this.hidden = false;
    const label = button.getAttribute("aria-label");
    button.addEventListener("click", async () => {
      const text = this.dataset.text ?? this.parentElement.querySelector("code").textContent;
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        return; // the browser does not let us: nothing was copied, nothing is claimed
      }
      button.classList.add("done");
      button.setAttribute("aria-label", "Copied");
      setTimeout(() => {
        button.classList.remove("done");
        button.setAttribute("aria-label", label);
      }, 1500);
    });
  }
});
