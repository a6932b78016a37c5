// In a list of rows: j and k walk, Enter opens, and so does a click anywhere in a row.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog")) return;
  if (event.key !== "j" && event.key !== "k") return;
  const links = [...document.querySelectorAll("table[data-walk] tbody tr .main-cell a")];
  if (links.length === 0) return;
  const here = links.indexOf(document.activeElement);
  const next = links[Math.max(0, Math.min(links.length - 1, here + (event.key === "j" ? 1 : -1)))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
});

document.addEventListener("click", (event) => {
  const row = event.target.closest?.("table[data-walk] tbody tr");
  if (!row || event.target.closest("a, button, input, select, label, summary, form") || getSelection().toString()) return;
  row.querySelector(".main-cell a")?.click();
});
