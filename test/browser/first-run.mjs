// How long a stranger waits: from the clone to a mug that is paid for, with the
// module cache as it is, nothing compiled yet and no module to be fetched. make
// first-run prints it; no test fails because a machine is slow.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, watched } from "./browser.mjs";
import { fill, press, visa } from "./buyer.mjs";

const dir = mkdtempSync(join(tmpdir(), "ratchet-first-run-"));
chmodSync(dir, 0o755); // as root, PostgreSQL runs as somebody else, who has to get in
const browser = await launch(), began = Date.now();
const passed = (what) => console.log(`${((Date.now() - began) / 1000).toFixed(1).padStart(6)} s  ${what}`);
let demo;
try {
  execFileSync("git", ["clone", "-q", new URL("../..", import.meta.url).pathname, join(dir, "ratchet")]);
  passed("cloned");
  demo = spawn("make", ["demo", `ARGS=--addr 127.0.0.1:0 --data-dir ${join(dir, "data")}`], {
    cwd: join(dir, "ratchet"), detached: true, stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, GOCACHE: join(dir, "cache"), GOPROXY: "off" } });
  const base = await new Promise((resolve, reject) => {
    let said = "";
    demo.once("exit", () => reject(new Error(`the demo ended:\n${said}`)));
    demo.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      const found = said.match(/dashboard +(http:\/\/[^/\s]+)\//);
      if (found) resolve(found[1]);
    });
  });
  passed("the demo has printed its addresses");
  const page = await watched(await browser.newContext(), base);
  await page.goto(`${base}/shop`);
  await page.getByRole("button", { name: "Add to cart: Mug" }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await fill(page, visa);
  await press(page);
  await page.locator('[data-state="paid"]').waitFor();
  passed("the order is paid");
  if (page.complaints.length > 0) throw new Error(page.complaints.join("\n"));
} finally {
  await browser.close();
  if (demo?.exitCode === null) {
    const ended = new Promise((resolve) => demo.once("exit", resolve));
    process.kill(-demo.pid, "SIGINT"); // Ctrl-C, which the whole group hears
    await ended;
  }
  rmSync(dir, { recursive: true, force: true });
}
