// In a list of rows: j and k walk, Enter opens.
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
