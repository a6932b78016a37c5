// The lab without this file: the whole figure and the whole log, behind "Show what
// happens". With it, a reader predicts first, and the run is played step by step.
const still = matchMedia("(prefers-reduced-motion: reduce)");
const playTime = 7000; // of a whole run, in milliseconds

const speeds = [1, 0.25, 0.5, 2];
// What a button says of the key that does the same. The template has that of Kill.
const keys = { first: "Home", back: "←", play: "Space", next: "→ (with Shift: what changes the story)", last: "End" };

const narrow = matchMedia("(max-width: 40rem)");
const detail = new Set(["statement", "asks_store", "bank_answers", "answers"]);

// The static pages keep all runs of a design in one file.
const runAddress = (design, fault) => document.querySelector('script[src^="/assets/"]') ? `/lab/runs/${design}/${fault}` : `${design}.html#${fault}`;

class Player extends HTMLElement {
  speed = 1;
  connectedCallback() {
    this.names = [...this.querySelectorAll(".lab-figure text:not([class])")];
    for (const name of this.names) { // on top of the marks, which a figure that is scrolled has under them
      name.dataset.n = name.parentElement.dataset.n ?? 0;
      name.ownerSVGElement.append(name);
    }
    this.marks = [...this.querySelectorAll("[data-n]")];
    this.drawn = this.marks.filter((m) => m.closest("svg") && !m.querySelector(".life") && !this.names.includes(m)).sort((a, b) => a.dataset.n - b.dataset.n);
    this.lines = [...this.querySelectorAll(".lab-log [data-n]")];
    this.last = this.lines.length - 1;
    this.at = this.last;
    this.verdict = this.querySelector("[data-verdict]");
    this.counts = this.querySelector(".lab-count");
    this.tables = [...this.querySelectorAll("[data-tables]")];
    this.source = [...this.querySelectorAll(".lab-source span")];
    this.killer = this.querySelector('[data-do="kill"]');
    this.scrubber = this.querySelector('input[type="range"]');
    this.scrubber.max = this.last;
    this.scrubber.addEventListener("input", () => { this.pause(); this.show(Number(this.scrubber.value)); });
    this.querySelector(".lab-code")?.addEventListener("toggle", () => this.showPanes());
    this.querySelector(".lab-scroll").addEventListener("scroll", (event) => this.keepNames(event.target));
    this.mismatch = this.counts.classList.contains("mismatch");
    this.addEventListener("click", (event) => this.do(event.target.closest("[data-do]")?.dataset.do));
    this.addEventListener("keydown", (event) => {
      if (/^[1-7]$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) document.querySelector(`.lab-nav li:nth-child(${event.key}) a`)?.click();
      const what = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", " ": "play", k: "kill" }[event.key];
      if (!what || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("button, summary") && event.key === " ") return;
      event.preventDefault();
      this.do(event.shiftKey && { back: "before", next: "after" }[what] || what);
    });
    for (const [what, key] of Object.entries(keys)) this.querySelector(`[data-do="${what}"]`).title = `Key: ${key}`;
    this.show(this.last);
  }
  disconnectedCallback() { this.pause(); }

  do(what) {
    if (what === "play") { this.timer ? this.pause() : this.play(); return; }
    if (what === "kill") { this.kill(); return; }
    if (what === "speed") { this.changeSpeed(); return; }
    const to = { first: 0, back: this.at - 1, next: this.at + 1, last: this.last, before: this.turn(-1), after: this.turn(1) }[what];
    if (to === undefined) return;
    this.pause();
    this.show(to);
  }

  // turn is the next event that changes the story, without statements and other detail.
  turn(step) {
    let at = this.at + step;
    while (at > 0 && at < this.last && detail.has(this.lines[at].dataset.kind)) at += step;
    return at;
  }

  // kill leads to the run in which the process is killed at this moment.
  kill() {
    const fault = this.lines[this.at].dataset.fault;
    if (fault) location.href = runAddress(this.killer.dataset.design, fault);
  }

  get stepTime() { return playTime / this.speed / (this.last + 1); }

  // changeSpeed takes the next speed, also of a run that is played.
  changeSpeed() {
    this.speed = speeds[(speeds.indexOf(this.speed) + 1) % speeds.length];
    this.querySelector('[data-do="speed"]').textContent = `${this.speed}×`;
    if (this.timer) { this.pause(); this.play(); }
  }

  play() {
    if (this.at >= this.last) this.show(0);
    if (still.matches) return; // no motion: the reader steps
    this.say("Pause");
    this.timer = setInterval(() => this.at < this.last ? this.show(this.at + 1) : this.pause(), this.stepTime);
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
    this.querySelector("[data-clock]").textContent = this.lines[this.at].firstElementChild.textContent;
    this.dataset.at = this.scrubber.value = this.at;
    this.showPanes();
  }

  // follow keeps this moment's mark in sight, where the figure is wider than the screen.
  follow() {
    const mark = this.drawn.findLast((m) => Number(m.dataset.n) <= this.at);
    if (mark) beside(this.querySelector(".lab-scroll"), mark);
  }

  // keepNames keeps the names of the rows in sight, where the figure is scrolled.
  keepNames(box) {
    const drawing = box.firstElementChild, units = drawing.viewBox.baseVal.width / drawing.clientWidth;
    for (const name of this.names) name.style.transform = `translateX(${box.scrollLeft * units}px)`;
  }

  // showPanes moves the log, the tables and the code to this moment, inside of their own boxes.
  showPanes() {
    const line = this.lines[this.at];
    within(line.parentElement, line);
    this.follow();
    const now = this.tables.findLast((t) => Number(t.dataset.tables) <= this.at);
    for (const t of this.tables) t.hidden = t !== now;
    const current = this.source[line.dataset.line - 1];
    for (const s of this.source) s === current ? s.setAttribute("aria-current", "true") : s.removeAttribute("aria-current");
    const latest = this.lines.findLast((l, n) => n <= this.at && l.dataset.line), of = this.source[latest?.dataset.line - 1];
    if (of) within(of.closest("pre"), of);
    this.killer.disabled = !line.dataset.fault;
  }
}

// beside scrolls a box sideways to one of its parts.
function beside(box, part) {
  const offset = part.getBoundingClientRect().left - box.getBoundingClientRect().left;
  if (offset < 0 || offset > box.clientWidth - 48) box.scrollLeft += offset - box.clientWidth / 2;
}

// within scrolls a box to one of its parts, and the page not at all.
function within(box, part) {
  const offset = part.getBoundingClientRect().top - box.getBoundingClientRect().top;
  if (offset < 0 || offset > box.clientHeight - 48) box.scrollTop += offset - box.clientHeight / 3;
}

// Lanes shows one lane at a time where there is no room for more.
class Lanes extends HTMLElement {
  connectedCallback() {
    this.tabs = [...this.querySelectorAll(".lab-tab")];
    if (this.tabs.length < 2) return;
    this.bar = document.createElement("div");
    this.bar.className = "lab-tabs";
    this.bar.setAttribute("role", "group");
    this.bar.setAttribute("aria-label", "Designs");
    for (const tab of this.tabs) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "button small";
      button.textContent = tab.dataset.title;
      button.addEventListener("click", () => this.pick(tab));
      this.bar.append(button);
    }
    this.prepend(this.bar);
    narrow.addEventListener("change", () => this.pick(this.shown));
    this.pick(this.tabs.at(-1));
  }

  pick(tab) {
    this.shown = tab;
    this.bar.hidden = !narrow.matches;
    for (const [n, each] of this.tabs.entries()) {
      each.hidden = narrow.matches && each !== tab;
      this.bar.children[n].setAttribute("aria-pressed", String(each === tab));
    }
  }
}

const answers = "ratchet-lab-answers"; // of the lab, and of the tour
const stops = 7; // of each

class Question extends HTMLElement {
  connectedCallback() {
    this.details = this.querySelector("details");
    this.addEventListener("click", (event) => {
      const button = event.target.closest("[data-choice]");
      if (button) this.judge(button);
    });
    this.details.addEventListener("toggle", () => {
      if (this.details.open && !still.matches) for (const player of this.querySelectorAll("lab-player")) player.play();
    });
  }

  judge(button) {
    const right = button.dataset.choice === this.dataset.answer;
    for (const each of this.querySelectorAll("[data-choice]")) each.setAttribute("aria-pressed", String(each === button));
    const given = JSON.parse(sessionStorage.getItem(answers) ?? "{}");
    given[this.dataset.stop] ??= right; // the first answer counts
    sessionStorage.setItem(answers, JSON.stringify(given));
    const tour = this.dataset.stop.startsWith("start-");
    const all = Object.keys(given).filter((stop) => stop.startsWith("start-") === tour).map((stop) => given[stop]);
    const score = `${all.filter(Boolean).length} of ${all.length} right${all.length < stops ? " so far" : ""}.`;
    this.querySelector(".lab-judgment").textContent = (right ? "Right. " : `No: it is ${this.dataset.answer}. `) + score;
    this.details.open = true;
  }
}

customElements.define("lab-player", Player);
customElements.define("lab-lanes", Lanes);
customElements.define("lab-question", Question);

// 1 to 7 lead to the stops.
document.addEventListener("keydown", (event) => {
  const stop = document.querySelectorAll(".lab-nav ol a")[Number(event.key) - 1];
  if (stop && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("input, select, textarea")) stop.click();
});
