// On a narrow page a list of pages is one row that scrolls: the page one is on is
// brought into view.
for (const row of document.querySelectorAll(".doc-nav ul")) {
  const here = row.querySelector("[aria-current]");
  if (here && row.scrollWidth > row.clientWidth) row.scrollLeft = here.offsetLeft - row.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
}
