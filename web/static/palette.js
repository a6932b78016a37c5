// <search-palette>: Ctrl K, or /, opens the search for any id, key or amount.
customElements.define("search-palette", class extends HTMLElement {
  connectedCallback() {
    const dialog = this.querySelector("dialog");
    const open = () => { if (!dialog.open) dialog.showModal(); dialog.querySelector("input").select(); };
    for (const link of document.querySelectorAll("[data-opens-search]")) {
      link.addEventListener("click", (event) => { event.preventDefault(); open(); });
    }
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
      if ((event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing)) {
        event.preventDefault();
        open();
      }
    });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  }
});
