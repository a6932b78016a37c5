// The lab's times, as a reader in a browser has them: one line per bar, and status 1 if one is missed. For a machine that
// does nothing else (make lab-bars). With --all, each cell of the matrix is run alone, and not only the slowest of each design.
import { launch, watched } from "./browser.mjs";
import { startDemo } from "./demo.mjs";

const demo = await startDemo(), browser = await launch();
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
let missed = 0;
function bar(name, measured, limit, shown, which = "") {
  if (measured > limit) missed++;
  console.log(`${measured <= limit ? "holds " : "MISSED"}  ${name}: ${shown(measured)}, at most ${shown(limit)}${which && ` (${which})`}`);
}

// worst is the entry with the highest figure.
const worst = (all) => all.reduce((most, one) => one.figure > most.figure ? one : most);
const middle = (figures) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];

// visit loads a page with an empty cache.
async function visit(path) {
  const context = await browser.newContext(), page = await watched(context, demo.base);
  await page.goto(demo.base + path, { waitUntil: "networkidle" });
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  const seen = await page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    weight: [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].reduce((sum, e) => sum + e.transferSize, 0),
  }));
  await context.close();
  return seen;
}

async function measurePages() {
  const paths = ["/lab", "/lab/2", "/lab/3", "/lab/4", "/lab/5", "/lab/6", "/lab/7", "/lab/matrix", "/lab/free", "/lab/designs/ratchet", "/lab/runs/ratchet/stopped"];
  const paints = [], weights = [];
  for (const path of paths) {
    const visits = [];
    for (let n = 0; n < 5; n++) visits.push(await visit(path));
    paints.push({ path, figure: middle(visits.map((v) => v.paint)) });
    weights.push({ path, figure: visits[0].weight });
  }
  const paint = worst(paints), weight = worst(weights);
  bar("first paint, median of five visits of the slowest page", paint.figure, 300, (ms) => `${Math.round(ms)} ms`, paint.path);
  bar("the heaviest page", weight.figure, 90_000, (bytes) => `${Math.round(bytes / 1000)} KB`, weight.path);
}

// reader sends forms as the page of the browser does.
async function reader() {
  const page = await fetch(`${demo.base}/lab/runs/naive/none`), html = await page.text();
  const headers = { origin: demo.base, cookie: page.headers.getSetCookie().map((c) => c.split(";")[0]).join("; ") };
  const csrf = html.match(/name="csrf" value="([^"]*)"/)[1];
  return async (path, fields) => {
    const began = performance.now();
    const response = await fetch(demo.base + path, { method: "POST", headers, redirect: "manual", body: new URLSearchParams([["csrf", csrf], ...fields]) });
    if (response.status !== 303) throw new Error(`${path} ${new URLSearchParams(fields)}: ${response.status}`);
    return { took: performance.now() - began, to: response.headers.get("location") };
  };
}

// recordedLanes are the runs of the matrix, and how long each took when it was recorded.
async function recordedLanes() {
  const html = await (await fetch(`${demo.base}/lab/matrix`)).text();
  const lanes = [...new Set([...html.matchAll(/href="\/lab\/runs\/([^/"]+)\/([^/"]+)"/g)].map((m) => `${m[1]} ${m[2]}`))];
  return Promise.all(lanes.map(async (lane) => {
    const [design, fault] = lane.split(" "), trace = await (await fetch(`${demo.base}/lab/runs/${design}/${fault}.ndjson`)).text();
    return { design, fault, ms: JSON.parse(trace.split("\n")[0]).ms };
  }));
}

async function measureLanes(post) {
  const run = async (fault, ...designs) => (await post("/lab/runs", [["fault", fault], ...designs.map((d) => ["design", d])])).took;
  console.log(`        the first run, for which the lab and its databases are opened: ${seconds(await run("none", "naive"))}`);
  console.log(`        the first run of a consumer, for which the broker is started: ${seconds(await run("queue-none", "inbox"))}`);
  const lanes = await recordedLanes(), designs = [...new Set(lanes.map((l) => l.design))];
  const slowest = designs.map((d) => lanes.filter((l) => l.design === d).reduce((most, one) => one.ms > most.ms ? one : most));
  const ran = [];
  for (const lane of process.argv.includes("--all") ? lanes : slowest) ran.push({ ...lane, figure: await run(lane.fault, lane.design) });
  const lane = worst(ran);
  bar(`one live lane, the slowest of ${ran.length}`, lane.figure, 2500, seconds, `${lane.design}, ${lane.fault}`);
  const six = ["naive", "redis-24h", "table", "table-tx", "points", "ratchet"], together = [];
  for (const fault of ["answer-not-recorded", "slow-bank", "stopped"]) together.push({ fault, figure: await run(fault, ...six) });
  const slow = worst(together);
  bar("six live lanes, the slowest of three faults", slow.figure, 6000, seconds, slow.fault);
}

async function measureMatrix(post) {
  const { to } = await post("/lab/matrix", []);
  for (;;) {
    const text = await (await fetch(demo.base + to)).text(), over = text.match(/All (\d+) runs took\s+([\d.]+)\s+s\.\s+([^<]*?)\s*</);
    if (over) {
      bar(`the matrix, ${over[1]} runs`, Number(over[2]) * 1000, 40_000, seconds, over[3].replaceAll(/\s+/g, " "));
      return;
    }
    if (text.includes("The run ended early")) throw new Error(`the matrix ended early: ${demo.base + to}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

try {
  await measurePages();
  const post = await reader();
  await measureLanes(post);
  await measureMatrix(post);
} finally {
  await browser.close();
  await demo.stop();
}
process.exitCode = missed ? 1 : 0;
