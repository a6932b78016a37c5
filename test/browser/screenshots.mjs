// The README's pictures: a demo that is always furnished the same way, and three
// of its pages. make screenshots writes them.
import { mkdirSync, statSync } from "node:fs";
import { launch } from "./browser.mjs";
import { furnish, startDemo } from "./demo.mjs";

const pictures = new URL("../../docs/pictures/", import.meta.url).pathname;
const heaviest = 150_000; // bytes

const demo = await startDemo();
let browser;
try {
  const made = await furnish(demo);
  browser = await launch();
  const page = await browser.newPage({ viewport: { width: 1200, height: 640 }, colorScheme: "light", reducedMotion: "reduce" });
  mkdirSync(pictures, { recursive: true });
  for (const [name, path] of Object.entries({
    inspector: "/dashboard/search?q=survivor", payment: `/dashboard/payments/${made.intent.id}`, ledger: "/dashboard/ledger?currency=usd",
  })) {
    await page.goto(demo.base + path);
    await page.locator('.live[data-state="live"]').waitFor();
    await page.screenshot({ path: `${pictures}${name}.png` });
    const { size } = statSync(`${pictures}${name}.png`);
    console.log(`docs/pictures/${name}.png: ${Math.ceil(size / 1000)} kB`);
    if (size > heaviest) throw new Error(`${name}.png is heavier than ${heaviest} bytes`);
  }
} finally {
  await browser?.close();
  await demo.stop();
}
