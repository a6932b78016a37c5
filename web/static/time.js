// <time data-ago>: how long ago, kept up to date; the full time stays in its title.
const steps = [[60, "second"], [60, "minute"], [24, "hour"], [7, "day"]];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "short" });

function ago(at) {
  let amount = (at - Date.now()) / 1000;
  if (Math.abs(amount) < 5) return "now";
  for (const [size, unit] of steps) {
    if (Math.abs(amount) < size) return words.format(Math.round(amount), unit);
    amount /= size;
  }
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
