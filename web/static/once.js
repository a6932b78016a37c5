// <form data-once>: a second press of a button does nothing while the first is
// under way. Should one get through all the same, the form's idempotency key
// makes it the same request.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-once]")) return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
  const button = event.submitter;
  if (button) {
    button.setAttribute("aria-disabled", "true");
    if (button.dataset.busy) button.textContent = button.dataset.busy;
  }
});
// Back from the page that followed, the form can be used again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// <select data-submits>: choosing is enough.
document.addEventListener("change", (event) => {
  if (event.target.matches("select[data-submits]")) event.target.form.requestSubmit();
});
