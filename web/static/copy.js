// <copy-button data-text="…">: copies and says so. Without data-text it copies
// the code block it stands in. A browser that has no clipboard, or keeps it from
// pages that came unencrypted, never sees one.
if (navigator.clipboard) customElements.define("copy-button", class extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
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
