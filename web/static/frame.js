// <fit-frame>: gives the frame in it the height of what it shows. Without this file
// the frame has a fixed height, and scrolls.
customElements.define("fit-frame", class extends HTMLElement {
  connectedCallback() {
    const frame = this.querySelector("iframe");
    const fit = () => {
      const inside = frame.contentDocument?.body;
      if (inside) frame.style.height = `${inside.scrollHeight + 2}px`;
    };
    frame.addEventListener("load", () => {
      fit();
      if (frame.contentDocument?.body) new ResizeObserver(fit).observe(frame.contentDocument.body);
    });
    if (frame.contentDocument?.readyState === "complete") fit();
  }
});
