// The bank's page, in a frame over the merchant's page. How it ends, the frame that waits for it
// reads from the API. Calling it off is a failed authentication.
import { connect } from "./page.js";
import { pause } from "./api.js";
import { speak } from "./words.js";

const bank = document.getElementById("challengeFrame"), close = document.querySelector(".close"), lost = document.querySelector(".lost");
const options = await connect({});
speak(options.locale);
if (!/^\/3d_secure\/\w+$/.test(options.page)) throw new Error("not a page of a bank");
const address = `${options.page}?framed`;
bank.src = address;
bank.focus();

// broken says that the frame shows the browser's own page about a server that did not answer.
const broken = () => { try { return !bank.contentDocument?.location.pathname.startsWith("/3d_secure/"); } catch { return true; } };
bank.addEventListener("load", async () => {
  bank.contentDocument?.addEventListener("keydown", (event) => { if (event.key === "Escape") cancel(); });
  if (!broken()) { lost.hidden = true; return; }
  lost.hidden = false;
  await pause(1000);
  bank.src = address;
});

let off = false;
async function cancel() {
  if (off) return;
  off = true;
  close.disabled = true;
  for (;;) {
    const answer = await fetch(address, { method: "POST", body: new URLSearchParams({ result: "fail" }) }).catch(() => undefined);
    lost.hidden = answer !== undefined && answer.status < 500;
    if (lost.hidden) return;
    await pause(1000);
  }
}
close.addEventListener("click", cancel);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") cancel();
  if (event.key === "Tab" && document.activeElement === close && !event.shiftKey) { event.preventDefault(); bank.focus(); } // the page behind is not reachable meanwhile
});
