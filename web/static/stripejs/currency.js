// The currency of a session. There is one: nothing is converted here.
import { connect, emit, fit } from "./page.js";
import { appear } from "./look.js";
import { speak } from "./words.js";

const show = ({ currency }) => {
  const box = document.querySelector(".currencies");
  box.hidden = !currency;
  box.querySelector("span").textContent = (currency ?? "").toUpperCase();
};
const options = await connect({ update: ({ options: now }) => show(now), look: ({ appearance, locale }) => { speak(locale); appear(appearance); }, focus: () => {}, blur: () => {}, clear: () => {} });
speak(options.locale);
appear(options.appearance);
show(options.options);
fit();
emit("ready");
