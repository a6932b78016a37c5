import { launch, watched } from "./browser.mjs";
import { startDemo } from "./demo.mjs";
import AxeBuilder from "@axe-core/playwright";
const demo = await startDemo(), browser = await launch();
for (const width of [1280, 360]) {
  const page = await watched(await browser.newContext({ viewport: { width, height: 900 }, reducedMotion: "reduce" }), demo.base);
  await page.goto(demo.base + "/");
  const { violations } = await new AxeBuilder({ page }).analyze();
  console.log(width, violations.map((v) => v.id + v.nodes.map((n) => n.html)), page.complaints, await page.evaluate(() => document.documentElement.scrollWidth));
  await page.screenshot({ path: `screenshots/front.${width}.png`, fullPage: true });
  const bytes = await page.evaluate(() => [performance.getEntriesByType("navigation")[0], ...performance.getEntriesByType("resource")].reduce((s, e) => s + e.transferSize, 0));
  await page.goto(demo.base + "/lab");
  await page.screenshot({ path: `screenshots/labstart.${width}.png` });
  console.log("front bytes", bytes, "lab bytes", await page.evaluate(() => [performance.getEntriesByType("navigation")[0], ...performance.getEntriesByType("resource")].reduce((s, e) => s + e.transferSize, 0)),
   "paint", await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime));
  await page.goto(demo.base + "/lab/runs/ratchet/stopped");
  await page.screenshot({ path: `screenshots/run.${width}.png` });
  await page.goto(demo.base + "/lab/designs/ratchet");
  console.log("design bytes", await page.evaluate(() => performance.getEntriesByType("navigation")[0].transferSize));
}
await browser.close(); await demo.stop();
