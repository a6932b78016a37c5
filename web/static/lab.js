// The lab without this file: the whole figure and the whole log, behind "Show what
// happens". With it, a reader predicts first, and the run is played step by step.
const still = matchMedia("(prefers-reduced-motion: reduce)");
const playTime = 7000; // of a whole run, in milliseconds

class Player extends HTMLElement {
  connectedCallback() {
    this.marks = [...this.querySelectorAll("[data-n]")];
    this.lines = [...this.querySelectorAll(".lab-log [data-n]")];
    this.last = this.lines.length - 1;
    this.at = this.last;
    this.verdict = this.querySelector("[data-verdict]");
    this.counts = this.querySelector(".lab-count");
    this.mismatch = this.counts.classList.contains("mismatch");
    this.addEventListener("click", (event) => this.do(event.target.closest("[data-do]")?.dataset.do));
    this.addEventListener("keydown", (event) => {
      const what = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", " ": "play" }[event.key];
      if (!what || event.target.closest("button") && event.key === " ") return;
      event.preventDefault();
      this.do(what);
    });
  }
  disconnectedCallback() { this.pause(); }

  do(what) {
    if (what === "play") { this.timer ? this.pause() : this.play(); return; }
    const to = { first: 0, back: this.at - 1, next: this.at + 1, last: this.last }[what];
    if (to === undefined) return;
    this.pause();
    this.show(to);
  }

  play() {
    if (this.at >= this.last) this.show(0);
    if (still.matches) return; // no motion: the reader steps
    this.say("Pause");
    this.timer = setInterval(() => this.at < this.last ? this.show(this.at + 1) : this.pause(), playTime / (this.last + 1));
  }

  pause() {
    clearInterval(this.timer);
    this.timer = undefined;
    this.say("Play");
  }

  say(word) { this.querySelector('[data-do="play"]').textContent = word; }

  // show is all there is to a moment: it does not depend on how it was reached.
  show(to) {
    this.at = Math.max(0, Math.min(this.last, to));
    for (const mark of this.marks) mark.classList.toggle("later", Number(mark.dataset.n) > this.at);
    for (const [n, line] of this.lines.entries()) n === this.at ? line.setAttribute("aria-current", "step") : line.removeAttribute("aria-current");
    const over = this.at === this.last;
    this.querySelector("[data-bank]").textContent = this.lines.filter((line, n) => n <= this.at && line.dataset.kind === "charges").length;
    this.querySelector("[data-books]").textContent = over ? this.dataset.booked : "…";
    this.verdict.classList.toggle("later", !over);
    this.counts.classList.toggle("mismatch", over && this.mismatch);
    this.dataset.at = this.at;
  }
}

const answers = "ratchet-lab-answers";

class Question extends HTMLElement {
  connectedCallback() {
    this.details = this.querySelector("details");
    this.addEventListener("click", (event) => {
      const button = event.target.closest("[data-choice]");
      if (button) this.judge(button);
    });
    this.details.addEventListener("toggle", () => {
      if (this.details.open) for (const player of this.querySelectorAll("lab-player")) player.play();
    });
  }

  judge(button) {
    const right = button.dataset.choice === this.dataset.answer;
    for (const each of this.querySelectorAll("[data-choice]")) each.setAttribute("aria-pressed", String(each === button));
    const given = JSON.parse(sessionStorage.getItem(answers) ?? "{}");
    given[this.dataset.stop] ??= right; // the first answer counts
    sessionStorage.setItem(answers, JSON.stringify(given));
    const all = Object.values(given), score = `${all.filter(Boolean).length} of ${all.length} right so far.`;
    this.querySelector(".lab-judgment").textContent = (right ? "Right. " : `No: it is ${this.dataset.answer}. `) + score;
    this.details.open = true;
  }
}

customElements.define("lab-player", Player);
customElements.define("lab-question", Question);

// 1 to 7 lead to the stops.
document.addEventListener("keydown", (event) => {
  const stop = document.querySelectorAll(".lab-nav ol a")[Number(event.key) - 1];
  if (stop && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("input, select, textarea")) stop.click();
});
