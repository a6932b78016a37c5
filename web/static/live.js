// <live-region topics="money requests" id="…">: when one of its topics changes,
// the page is fetched again and the region replaced. All regions of a page share
// one stream, a hidden tab has none, and what somebody is using is left alone.
// With every="1000" instead of topics it asks by itself, every second, for as long
// as the answer says so.

const regions = new Set();
let source, timer;

// versions name the state of each topic that this page shows. Where the page could not say it, all are news.
let versions = JSON.parse(document.body.dataset.shows ?? "{}");

// address is the page's own. After a form was rejected, the browser shows the page at the form's address.
const address = () => document.body.dataset.at ?? location.href;

// The tab's icon has a dot while the server is away, and after news in a tab that nobody looked at.
const icon = document.querySelector('link[rel="icon"]'), plain = icon?.getAttribute("href");
function mark(what) {
  const href = icon?.dataset[what] ?? plain;
  if (icon && icon.getAttribute("href") !== href) icon.setAttribute("href", href);
}

function say(state) {
  const words = { live: "Live", reconnecting: "Reconnecting…", paused: "Paused", expired: "Logged out: reload" };
  if (!document.hidden) mark(state === "reconnecting" && "away");
  for (const pill of document.querySelectorAll(".live")) {
    if (pill.dataset.state === state) continue;
    pill.dataset.state = state;
    pill.textContent = words[state];
  }
}

// A browser opens six connections to a server, so the tabs that are seen share one
// stream: the one that has the lock reads it, and tells the others. When it is
// closed or hidden the lock goes to the next. Without locks each has its own, and so has a tab that gets neither the
// lock nor an answer: a browser can be slow to take the lock from a tab that is gone.
const others = "BroadcastChannel" in globalThis ? new BroadcastChannel("ratchet-live") : undefined, answersWithin = 5000;
let wanted, release, answered;

others?.addEventListener("message", ({ data }) => {
  if (data.ask) { if (source) tell(source.readyState === EventSource.OPEN ? "live" : "reconnecting", versions); return; }
  if (!wanted || source) return;
  answered = true;
  if (data.state) say(data.state);
  if (data.versions && Object.keys(data.versions).length > 0) hear(data.versions); // none yet: nothing has been heard
});

function tell(state, news) {
  others?.postMessage({ state, versions: news });
}

function hear(now) {
  const changed = Object.keys(now).filter((topic) => versions[topic] !== now[topic]);
  versions = now;
  if ([...regions].some((region) => region.topics.some((topic) => changed.includes(topic)))) schedule();
}

function connect() {
  if (wanted || document.hidden || ![...regions].some((region) => region.hasAttribute("topics"))) return;
  const mine = wanted = new AbortController();
  if (!navigator.locks || !others) { open(); return; }
  answered = false;
  others.postMessage({ ask: true });
  const needed = () => wanted === mine && !source;
  setTimeout(() => { if (needed() && !answered) open(); }, answersWithin);
  navigator.locks.request("ratchet-live", { signal: mine.signal }, () => wanted === mine && new Promise((resolve) => {
    release = resolve;
    if (needed()) open();
  })).catch(() => {}); // called off while it waited
}

function open() {
  source = new EventSource("/dashboard/stream");
  source.onopen = () => { say("live"); tell("live"); };
  source.onerror = () => {
    say("reconnecting");
    tell("reconnecting");
    if (source.readyState === EventSource.CLOSED) { // it does not try again by itself after an error answer
      disconnect();
      setTimeout(async () => { if (await loggedOut()) say("expired"); else connect(); }, 2000);
    }
  };
  source.onmessage = (event) => {
    const now = JSON.parse(event.data);
    tell("live", now);
    hear(now);
  };
}

// loggedOut tells whether the server would sooner see a password than show this page.
async function loggedOut() {
  try { return (await fetch(address(), { redirect: "manual" })).type === "opaqueredirect"; } catch { return false; }
}

function disconnect() {
  source?.close();
  source = undefined;
  wanted?.abort();
  release?.();
  wanted = release = undefined;
}

function schedule(pause = 60) {
  clearTimeout(timer);
  timer = setTimeout(update, pause);
}

const retryAfter = 2000;
async function update() {
  let answer;
  try {
    answer = await fetch(address(), { headers: { accept: "text/html", "ratchet-live": "1" } }); // it does not count as using the session
    if (answer.status === 429 || answer.status >= 500) schedule(retryAfter);
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (page.title && page.title !== document.title) {
      document.title = page.title;
      if (document.hidden) mark("news");
    }
    for (const region of regions) region.take(page.getElementById(region.id));
    document.dispatchEvent(new Event("updated"));
    settle();
  } catch {
    say("reconnecting"); // the stream notices, too, and comes back. It does not say again what has changed.
    schedule(retryAfter);
  }
}

// What is about to change is looked at again: [data-unsettled].
function settle() {
  if (!document.hidden && [...regions].some((region) => region.querySelector("[data-unsettled]"))) {
    schedule(1500);
  }
}

// A hidden tab has no stream. Where something is still open, it asks from time to time: its title says what came of it.
const askHidden = 3000;
async function watchHidden() {
  if (!document.hidden || !document.querySelector("[data-open]")) return;
  await update();
  setTimeout(watchHidden, askHidden);
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) { disconnect(); say("paused"); setTimeout(watchHidden, askHidden); } else { mark(); connect(); schedule(); }
});
addEventListener("pagehide", disconnect);
addEventListener("pageshow", connect);

// text is what a region shows. The forms' token looks different on every page, and nobody sees it.
const text = (region) => region.innerHTML.replace(/(name="csrf" value=")[^"]*/g, "$1");

customElements.define("live-region", class extends HTMLElement {
  get topics() { return (this.getAttribute("topics") ?? "").split(" "); }
  connectedCallback() { this.shown = text(this); regions.add(this); connect(); settle(); this.ask(); }
  disconnectedCallback() { regions.delete(this); clearTimeout(this.next); }

  ask() {
    clearTimeout(this.next);
    const pause = Number(this.getAttribute("every"));
    if (pause > 0) this.next = setTimeout(async () => { if (!document.hidden) await update(); this.ask(); }, pause);
  }

  // busy: somebody is typing or marking something here.
  get busy() {
    const focused = document.activeElement;
    if (this.contains(focused) && focused.matches("input, select, textarea, summary")) return true;
    if (this.querySelector("[name=selected]:checked")) return true;
    const selection = getSelection();
    return !selection.isCollapsed && this.contains(selection.anchorNode);
  }

  take(fresh) {
    if (!fresh) return;
    const news = text(fresh);
    if (news === this.shown) return;
    if (this.busy) { setTimeout(schedule, 2000); return; }
    this.shown = news;
    if (fresh.hasAttribute("every")) this.setAttribute("every", fresh.getAttribute("every")); else this.removeAttribute("every");
    const known = new Set([...this.querySelectorAll("[data-key]")].map((row) => row.dataset.key));
    const focused = this.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    const open = [...this.querySelectorAll("details")].map((fold) => fold.open);
    const scrolled = [...this.querySelectorAll(".table-wrap, .rail-wrap")].map((box) => box.scrollLeft);
    this.replaceChildren(...fresh.childNodes);
    this.querySelectorAll("details").forEach((fold, i) => { if (open[i]) fold.open = true; });
    this.querySelectorAll(".table-wrap, .rail-wrap").forEach((box, i) => { box.scrollLeft = scrolled[i] ?? 0; });
    if (focused) this.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    for (const row of this.querySelectorAll("[data-key]")) if (known.size && !known.has(row.dataset.key)) row.classList.add("fresh");
  }
});
