// A merchant with pages of their own, at another origin than the API's. The pages make the calls of
// Stripe's samples; what they get back is in window.results.
import { createServer } from "node:http";

export async function openShop(demo, pages) {
  const served = [];
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    served.push(request.url);
    response.setHeader("content-type", "text/html; charset=utf-8");
    const page = pages[pathname.slice(1)];
    if (pathname.endsWith(".js")) { response.setHeader("content-type", "text/javascript"); response.end(page); return; }
    if (page === undefined) { response.end("<!doctype html><title>Back</title><h1>Thank you!</h1>"); return; }
    response.end(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title><link rel="icon" href="data:,"></head>${page.replaceAll("BASE", demo.base)}</html>`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://localhost:${server.address().port}`;
  return { base, served, close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }) };
}

// visit opens a page of the shop, and keeps everything that it and its frames complain about.
export async function visit(context, shop, demo, path, query = {}) {
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) page.complaints.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => page.complaints.push(`error: ${e.message}`));
  page.on("request", (r) => { if (![demo.base, shop.base, "data:"].some((own) => r.url().startsWith(own))) page.complaints.push(`request to ${r.url()}`); });
  await page.goto(`${shop.base}/${path}?${new URLSearchParams(query)}`);
  return page;
}

export const paymentFrame = (page) => page.frameLocator('iframe[src*="elements-inner-payment"]');
export const cardFrame = (page) => page.frameLocator('iframe[src*="elements-inner-card"]').first();
export const bankFrame = (page) => page.frameLocator('iframe[src*="three-ds-2-challenge"]').frameLocator("#challengeFrame");

export async function fillPayment(page, number, cvc = "123") {
  const frame = paymentFrame(page);
  await frame.locator('[data-testid="card"]').click();
  await frame.locator('[name="number"]').fill(number);
  await frame.locator('[name="expiry"]').fill("12 / 34");
  await frame.locator('[name="cvc"]').fill(cvc);
  await frame.locator('[name="country"]').selectOption("US");
  await frame.locator('[name="postalCode"]').fill("10000");
}

export async function fillCard(page, number) {
  const frame = cardFrame(page);
  await frame.locator('[name="cardnumber"]').fill(number);
  await frame.locator('[name="exp-date"]').fill("12 / 34");
  await frame.locator('[name="cvc"]').fill("123");
  await frame.locator('[name="postal"]').fill("10000");
}
