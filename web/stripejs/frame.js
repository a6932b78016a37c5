// Frame is an iframe from our address, and the way to talk to it.
//
//	frame → page   { ratchet: "loaded" }             any origin may see it: it says nothing
//	page  → frame  { ratchet: "connect", nonce, … }  to our origin only, with a port of a channel
//
// The page takes "loaded" only from this iframe's window and from our origin. The frame takes
// "connect" only from its parent, with the nonce that is in the frame's address, and once.
// Everything else goes through the port, which these two have and nothing else on the page does.
let framesMade = 0;

// How long to wait before a frame that did not come up is asked for again, in milliseconds.
const frameWaits = [500, 1000, 2000, 4000];

class Frame {
  constructor({ name = "__privateStripeFrame", path, title, options, style }) {
    Object.assign(this, { path, options, waiting: [], calls: new Map(), handlers: new Map(), tries: 0 });
    const iframe = document.createElement("iframe");
    this.iframe = iframe;
    iframe.name = `${name}${++framesMade}`;
    iframe.title = title;
    iframe.setAttribute("frameborder", "0");
    iframe.setAttribute("allowtransparency", "true");
    iframe.setAttribute("scrolling", "no");
    iframe.style.cssText = style ?? "border: 0; margin: 0; padding: 0; width: 1px; min-width: 100%; height: 1.2em; display: block; overflow: hidden; color-scheme: normal; user-select: none;";
    this.onMessage = (event) => this.met(event);
    addEventListener("message", this.onMessage);
    // A browser fires "load" for its page about a server that does not answer, too.
    iframe.addEventListener("load", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.port || this.missed(), 2500);
    });
    this.load();
  }

  load() {
    this.nonce = crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint32Array(4))].join("-");
    this.iframe.src = `${base}${this.path}${this.tries ? `?again=${this.tries}` : ""}#${this.nonce}`;
  }

  missed() {
    if (this.removed) return;
    this.emit("loaderror", { error: { type: "api_connection_error", message: "A frame of Stripe.js could not be loaded." } });
    this.timer = setTimeout(() => this.load(), frameWaits[Math.min(this.tries++, frameWaits.length - 1)]);
  }

  met(event) {
    if (event.origin !== base || event.source !== this.iframe.contentWindow || event.data?.ratchet !== "loaded") return;
    clearTimeout(this.timer);
    this.drop(); // a frame that was moved within the page has loaded again, and has forgotten everything
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    port1.onmessage = ({ data }) => this.hear(data);
    event.source.postMessage({ ratchet: "connect", nonce: this.nonce, options: this.options }, base, [port2]);
    for (const send of this.waiting.splice(0)) send();
  }

  hear({ id, value, problem, event, data }) {
    if (event) { this.emit(event, data); return; }
    const call = this.calls.get(id);
    this.calls.delete(id);
    if (problem) call?.reject(new IntegrationError(problem));
    else call?.resolve(value);
  }

  // call has the frame do something, as soon as it is there, and resolves to what it returns.
  call(method, params) {
    return new Promise((resolve, reject) => {
      const id = ++framesMade;
      const send = () => {
        this.calls.set(id, { resolve, reject });
        this.port.postMessage({ id, method, params });
      };
      if (this.port) send();
      else this.waiting.push(send);
    });
  }

  on(event, handler) { this.handlers.set(event, handler); return this; }

  emit(event, data) { this.handlers.get(event)?.(data); }

  // drop ends the connection. What is under way goes on in the server, and its outcome is not known here.
  drop() {
    this.port?.close();
    this.port = undefined;
    for (const { resolve } of this.calls.values()) {
      resolve({ error: { type: "api_connection_error", message: "The frame that was waiting for the answer has been removed. Retrieve the intent to learn its status." } });
    }
    this.calls.clear();
  }

  remove() {
    this.removed = true;
    clearTimeout(this.timer);
    removeEventListener("message", this.onMessage);
    this.drop();
    this.iframe.remove();
  }
}
