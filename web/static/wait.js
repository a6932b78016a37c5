// <checkout-wait data-state="…" data-page="…">: looks how the session stands until
// it stands differently, however often nobody answers. Without data-state it
// reloads the page as soon as there is somebody to ask.
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// How long an answer is waited for, in milliseconds. A network can be gone without
// a word; a payment is given longer than the server takes at most.
const timeouts = { GET: 10_000, POST: 45_000 };

// ask fetches JSON; undefined if nobody answered, or nobody who knew. That there is
// no such session is an answer: asking again would find none either.
export async function ask(address, init = {}) {
  try {
    const signal = AbortSignal.timeout(timeouts[init.method ?? "GET"]);
    const answer = await fetch(address, { ...init, signal, headers: { accept: "application/json", ...init.headers }, cache: "no-store" });
    if (answer.status === 404) return { state: "missing" };
    return answer.ok ? await answer.json() : undefined;
  } catch {
    return undefined;
  }
}

customElements.define("checkout-wait", class extends HTMLElement {
  async connectedCallback() {
    const lost = this.querySelector(".lost");
    for (;;) {
      await pause(1000);
      if (!this.isConnected) return;
      const now = this.dataset.state ? await ask(this.dataset.state) : await fetch(location.href, { method: "HEAD" }).then((a) => a.status !== 503 && { state: "back" }, () => undefined);
      if (lost) lost.hidden = now !== undefined;
      if (now && now.state === "complete") return location.replace(`${this.dataset.page}/done`);
      if (now && now.state !== "processing") return location.replace(this.dataset.page || location.href);
    }
  }
});
