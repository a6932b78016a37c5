// On a narrow page the dashboard's pages are one row that scrolls: the page one is
// on is brought into view.
const side = document.querySelector(".side");
const here = side?.querySelector("[aria-current]");
if (here && side.scrollWidth > side.clientWidth) side.scrollLeft = here.offsetLeft - side.offsetLeft - (side.clientWidth - here.offsetWidth) / 2;
