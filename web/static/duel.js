const still = matchMedia("(prefers-reduced-motion: reduce)");

// Duel plays two figures at once, with one button. Before that they show the beginning.
class Duel extends HTMLElement {
  connectedCallback() {
    this.figures = [...this.querySelectorAll(".lab-figure")].map((f) => [...f.querySelectorAll("[data-n]")]);
    this.button = this.querySelector("button");
    this.button.hidden = false;
    this.button.addEventListener("click", () => this.play());
    this.show(0.15);
  }
  disconnectedCallback() { clearInterval(this.timer); }

  play() {
    clearInterval(this.timer);
    if (still.matches) { this.show(1); return; }
    let part = 0;
    this.timer = setInterval(() => {
      part += 0.02;
      this.show(Math.min(1, part));
      if (part >= 1) clearInterval(this.timer);
    }, 100);
  }

  show(part) {
    for (const marks of this.figures) {
      const last = Math.max(...marks.map((m) => Number(m.dataset.n)));
      for (const mark of marks) mark.classList.toggle("later", Number(mark.dataset.n) > last * part);
    }
    for (const result of this.querySelectorAll("[data-result]")) result.classList.toggle("later", part < 1);
    this.dataset.over = part >= 1;
  }
}

customElements.define("lab-duel", Duel);
