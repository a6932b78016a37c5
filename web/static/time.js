// <time data-ago>: how long ago, kept up to date; the full time stays in its title.
// The server has written the same words (web/ago.go).
const steps = [[60, "s"], [60, "m"], [24, "h"], [7, "d"]];
let dates; // made when a date is wanted: it takes the browser 20 ms and more, and a page that is being painted has better to do

function ago(at) {
  const away = (at - Date.now()) / 1000;
  let amount = Math.abs(away);
  if (amount < 5) return "now";
  for (const [size, unit] of steps) {
    if (amount < size) return away < 0 ? `${Math.trunc(amount)}${unit} ago` : `in ${Math.trunc(amount)}${unit}`;
    amount /= size;
  }
  dates ??= new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "short" });
  return dates.format(at);
}

export function refresh(root = document) {
  for (const time of root.querySelectorAll("time[data-ago]")) {
    const text = ago(Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

refresh();
setInterval(refresh, 5000);
