// Charts: a finger, the mouse and the arrow keys choose a day, and a line below names its value.
class DayChart extends HTMLElement {
  connectedCallback() {
    const days = [...this.querySelectorAll("svg g")];
    if (this.reading || days.length === 0) return;
    this.reading = document.createElement("p");
    this.reading.className = "reading small";
    this.reading.setAttribute("role", "status");
    this.reading.textContent = "Point at a day, or press ← and →.";
    this.append(this.reading);
    this.tabIndex = 0;
    this.setAttribute("role", "group");
    this.setAttribute("aria-label", "Days of the chart: choose one with the arrow keys");
    const choose = (day) => {
      this.querySelector("g.chosen")?.classList.remove("chosen");
      day.classList.add("chosen");
      this.reading.textContent = day.querySelector("title").textContent;
    };
    for (const kind of ["pointerover", "click"]) {
      this.addEventListener(kind, (event) => {
        const day = event.target.closest("g");
        if (day) choose(day);
      });
    }
    this.addEventListener("keydown", (event) => {
      const here = days.findIndex((day) => day.classList.contains("chosen"));
      const next = {
        ArrowLeft: here < 0 ? days.length - 1 : Math.max(0, here - 1),
        ArrowRight: here < 0 ? 0 : Math.min(days.length - 1, here + 1),
        Home: 0,
        End: days.length - 1,
      }[event.key];
      if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      choose(days[next]);
    });
  }
}
customElements.define("day-chart", DayChart);
