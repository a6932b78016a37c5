import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { accessible, launch, watched } from "./browser.mjs";
import { furnished } from "./every-page.mjs";

const shots = new URL("screenshots/", import.meta.url).pathname;
let demo, everyPage, browser;

before(async () => {
  ({ demo, everyPage } = await furnished());
  browser = await launch();
  mkdirSync(shots, { recursive: true });
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

for (const width of [1280, 360]) {
  test(`every page is in order, light and dark, ${width} pixels wide`, async (t) => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, reducedMotion: "reduce" });
    const page = await watched(context, demo.base);
    for (const [name, path] of Object.entries(everyPage)) {
      await t.test(name, async () => {
        page.complaints.length = 0;
        const answer = await page.goto(demo.base + path, { waitUntil: "load" });
        const none = ["missing", "nowhere"].includes(name);
        assert.equal(answer.status(), none ? 404 : 200);
        for (const theme of ["light", "dark"]) {
          await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
          await page.screenshot({ path: `${shots}${name}.${theme}.${width}.png`, fullPage: width === 360 && !["charges", "errors"].includes(name) });
          // Themes differ in colors, and widths in the rest.
          if (width === 1280) await accessible(page, theme === "light" ? "too" : "alone");
          else if (theme === "light") await accessible(page, "not");
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
        const wide = await page.evaluate(() => [...document.querySelectorAll(".dashboard .table-wrap")].filter((it) => it.scrollWidth > it.clientWidth + 1).map((it) => it.getAttribute("aria-label")));
        assert.deepEqual(wide, [], "tables are wider than the page");
        assert.deepEqual(page.complaints.filter((c) => !(none && c.includes("404"))), []);
      });
    }
    await context.close();
  });
}
