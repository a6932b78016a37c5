// <details class="menu">: a click elsewhere, or Escape, closes it.
const close = () => { for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false; };
document.addEventListener("click", (event) => { if (!event.target.closest("details.menu")) close(); });
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest("details.menu[open]");
  if (menu) { close(); menu.querySelector("summary").focus(); }
});
