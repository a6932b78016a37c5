// <time><span data-ago>: how long ago, kept up to date. The server has written the
// same words (web/ago.go).
const steps = [[60, "s"], [60, "m"], [24, "h"], [Infinity, "d"]];

function ago(at) {
  const away = (at - Date.now()) / 1000;
  let amount = Math.abs(away);
  if (amount < 5) return "now";
  for (const [size, unit] of steps) {
    if (amount < size) {
      if (away < 0) return `${Math.trunc(amount)}${unit} ago`;
      return `in ${unit === "d" ? Math.round(amount) : Math.trunc(amount)}${unit}`; // in 47 hours is not in one day
    }
    amount /= size;
  }
}

function refresh() {
  for (const words of document.querySelectorAll("time [data-ago]")) {
    const text = ago(Date.parse(words.closest("time").dateTime));
    if (words.textContent !== text) words.textContent = text;
  }
}

refresh();
setInterval(refresh, 5000);
document.addEventListener("updated", refresh); // static/live.js has new parts of the page
