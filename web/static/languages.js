// The samples of the API reference: one choice of language for all of them, which this browser keeps.
const store = "ratchet_language";

function choose(language) {
  for (const input of document.querySelectorAll(".languages input")) input.checked = input.value === language;
}

document.addEventListener("change", (event) => {
  if (!event.target.matches?.(".languages input")) return;
  choose(event.target.value);
  try { localStorage.setItem(store, event.target.value); } catch { /* nothing is kept */ }
});

try {
  const kept = localStorage.getItem(store);
  if (kept && document.querySelector(`.languages input[value="${CSS.escape(kept)}"]`)) choose(kept);
} catch { /* nothing was kept */ }
