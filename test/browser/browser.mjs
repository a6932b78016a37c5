// Debian's Chromium, and what no page may do in it.
import { chromium } from "playwright-core";

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

// watched is a page whose every complaint is kept: errors, refusals of the
// content security policy, and requests to anybody else.
export async function watched(context, base) {
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") page.complaints.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => page.complaints.push(`error: ${e.message}`));
  page.on("request", (r) => { if (!r.url().startsWith(base) && !r.url().startsWith("data:")) page.complaints.push(`request to ${r.url()}`); });
  return page;
}
