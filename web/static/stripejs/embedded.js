// The hosted page in a frame of the merchant's page, which learns that the session is complete.
import { connect, emit, fit } from "./page.js";

document.addEventListener("paid", (event) => {
  event.preventDefault();
  setTimeout(() => emit("complete", { url: event.detail }), 700); // long enough to read "Paid"
});
await connect({});
fit(document.body);
emit("ready");
