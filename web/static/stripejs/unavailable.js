// An element of Stripe.js that is not here says so in its place.
import { connect, emit, fit } from "./page.js";

const options = await connect({ update: () => {}, look: () => {}, focus: () => {}, blur: () => {}, clear: () => {}, check: () => ({}) });
document.querySelector(".unavailable").textContent = `The ${options.type} Element is not available in this test environment.`;
fit();
emit("ready");
emit("loaderror", { error: { type: "invalid_request_error", code: "payment_method_unavailable", message: `The ${options.type} Element is not available in this test environment.` } });
