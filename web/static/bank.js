// The bank's page: what the cardholder decides is sent until the server answers. The first decision counts, so
// it can be sent any number of times. Without this file, the form is sent once.
import { pause } from "./wait.js";

const page = document.querySelector(".bank-page"), patience = 45_000; // milliseconds: longer than the server takes

// decided says whether the server has answered. A redirect to the shop is an answer that cannot be read here.
const decided = (result) => fetch(location.href, {
  method: "POST", body: new URLSearchParams({ result }), redirect: "manual", signal: AbortSignal.timeout(patience),
}).then((answer) => answer.type === "opaqueredirect" || answer.status < 500, () => false);

page?.querySelector("form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { value } = event.submitter;
  for (const button of event.target.querySelectorAll("button")) button.disabled = true;
  while (!await decided(value)) {
    page.querySelector(".lost").hidden = false;
    await pause(1000);
  }
  location.reload();
});
