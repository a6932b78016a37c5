// The page around this frame: how the two find each other, and what they say. See web/stripejs/frame.js.
const nonce = location.hash.slice(1);
let port;

// connect resolves to the options that the page has for this frame. methods are what it may call.
export function connect(methods) {
  return new Promise((resolve) => {
    const meet = (event) => {
      const { data, source, ports } = event;
      if (source !== parent || data?.ratchet !== "connect" || data.nonce !== nonce || !ports[0]) return;
      removeEventListener("message", meet);
      [port] = ports;
      port.onmessage = ({ data: call }) => answer(methods, call);
      resolve({ ...data.options, origin: event.origin });
    };
    addEventListener("message", meet);
    parent.postMessage({ ratchet: "loaded" }, "*");
  });
}

async function answer(methods, { id, method, params }) {
  try {
    if (!Object.hasOwn(methods, method)) throw new Error(`This frame cannot do ${method}.`);
    port.postMessage({ id, value: await methods[method](params) });
  } catch (problem) {
    port.postMessage({ id, problem: String(problem?.message ?? problem) });
  }
}

export const emit = (event, data) => port?.postMessage({ event, data });

// fit keeps the frame as high as what is in it.
export function fit(box = document.getElementById("frame")) {
  let last;
  const measure = () => {
    const height = Math.ceil(box.getBoundingClientRect().height);
    if (height !== last) emit("height", last = height);
  };
  new ResizeObserver(measure).observe(box);
  measure();
}

// focusOn gives a field of this frame the focus. The merchant's page focuses the frame first, but the browser
// may deliver that after this call, and then no field has the focus. So the field takes it again for a moment,
// as long as the customer has not gone to another one.
export function focusOn(field) {
  field?.focus();
  for (const wait of [0, 30, 100, 300]) {
    setTimeout(() => { if (document.hasFocus() && document.activeElement === document.body) field?.focus(); }, wait);
  }
}

// listen reports the focus and the keys that the page's own fields would report.
export function listen(form) {
  let inside = false;
  document.addEventListener("focusin", () => { if (!inside) { inside = true; emit("focus"); } });
  const left = () => { if (inside && !document.hasFocus()) { inside = false; emit("blur"); } };
  addEventListener("blur", () => setTimeout(left));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") emit("escape"); });
  form?.addEventListener("submit", (event) => { event.preventDefault(); emit("enter"); });
}
