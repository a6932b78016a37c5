// A demo with one of everything in it, and the list of all pages.
import { fetchUntil, furnish, startDemo } from "./demo.mjs";

// furnished starts the demo.
export async function furnished() {
  const demo = await startDemo(), firstPid = demo.pid;
  const made = await furnish(demo);
  const { id: link } = await demo.post("/v1/payment_links", { "line_items[0][price]": made.product.default_price, "line_items[0][quantity]": 1 });
  const list = await fetchUntil(`${demo.base}/dashboard/requests?again=yes`, "req_");
  const request = list.match(/req_\w+/)[0];
  await demo.post("/v1/charges", { amount: "a lot", currency: "usd", source: "tok_visa" }, "rejected");
  const rejected = (await fetchUntil(`${demo.base}/dashboard/requests?key=rejected`, "req_")).match(/req_\w+/)[0];
  await demo.post("/v1/charges", { amount: 1234, currency: "usd", source: "tok_visa" }, "undecided", "retire_key");
  const undecided = (await fetchUntil(`${demo.base}/dashboard/idempotency?state=needs_review`, "undecided")).match(/req_\w+/)[0];
  const event = (await demo.get("/v1/events?limit=1")).data[0].id;
  const longest = (await demo.get("/v1/events?limit=100")).data.reduce((a, b) => (b.type.length > a.type.length ? b : a)).id; // type: a page's title
  const posting = made.survivor.balance_transaction;
  const told = made.heard.find((h) => h.path === "/broken").id;
  await demo.post("/v1/charges", { amount: 2600, currency: "usd", source: "tok_visa", receipt_email: "jenny@example.com" });
  const email = (await fetchUntil(`${demo.base}/dashboard/emails`, "/dashboard/emails/")).match(/dashboard\/emails\/(\w+)"/)[1];
  return { demo, firstPid, made, request, event, posting, everyPage: pagesOf({ made, link, request, rejected, undecided, event, longest, posting, told, email }) };
}

const pagesOf = ({ made, link, request, rejected, undecided, event, longest, posting, told, email }) => ({
  front: "/", overview: "/dashboard", overview_month: "/dashboard?days=30&currency=usd", emails: "/dashboard/emails", email: `/dashboard/emails/${email}`, reference_objects: "/docs/api/charges/objects", charts: "/dashboard/charts", charts_quarter: "/dashboard/charts?days=90", payments: "/dashboard/payments", payments_none: "/dashboard/payments?state=pending",
  payments_filtered: "/dashboard/payments?state=succeeded&min=45&max=nonsense&brand=visa",
  payment: `/dashboard/payments/${made.survivor.id}`, payment_held: `/dashboard/payments/${made.held.id}`,
  intent: `/dashboard/payments/${made.intent.id}`, intent_incomplete: `/dashboard/payments/${made.incomplete.id}`,
  intent_held: `/dashboard/payments/${made.intentHeld.id}`, intent_declined: `/dashboard/payments/${made.declined.id}`,
  checkout: "/dashboard/checkout", checkout_none: "/dashboard/checkout?state=expired", session: `/dashboard/checkout/${made.session.id}`,
  session_reduced: `/dashboard/checkout/${made.reduced.id}`, payment_reduced: `/dashboard/payments/${made.reduced.payment_intent}`,
  new: "/dashboard/new", new_payment: "/dashboard/new/payment", new_link: "/dashboard/new/link", new_customer: "/dashboard/new/customer",
  new_product: "/dashboard/new/product", new_payment_link: "/dashboard/new/payment-link", links: "/dashboard/links", links_inactive: "/dashboard/links?state=inactive", link: `/dashboard/links/${link}`, selected: `/dashboard/payments/selected?selected=${made.survivor.id}&selected=${made.euro.id}`, activity: "/dashboard/activity", new_payout: "/dashboard/new/payout",
  products: "/dashboard/products", products_archived: "/dashboard/products?state=archived", product: `/dashboard/products/${made.product.id}`, price: `/dashboard/prices/${made.product.default_price}`,
  disputes: "/dashboard/disputes", disputes_none: "/dashboard/disputes?state=won", dispute: `/dashboard/disputes/${made.dispute.id}`,
  payouts: "/dashboard/payouts", payouts_none: "/dashboard/payouts?state=failed", payout: `/dashboard/payouts/${made.payout.id}`,
  webhooks: "/dashboard/webhooks", webhook: `/dashboard/webhooks/${made.endpoint.id}`, webhook_broken: `/dashboard/webhooks/${made.broken.id}`,
  delivery: `/dashboard/webhooks/${made.endpoint.id}/${event}`, delivery_broken: `/dashboard/webhooks/${made.broken.id}/${told}`, clock: "/dashboard/clock",
  customers: "/dashboard/customers", customer: `/dashboard/customers/${made.customer.id}`,
  balance: "/dashboard/balance", ledger: "/dashboard/ledger", ledger_account: "/dashboard/ledger?account=merchant_balance", posting: `/dashboard/ledger/${posting}`,
  requests: "/dashboard/requests", requests_filtered: "/dashboard/requests?path=/v1/charges&key=order-6027", inspector: `/dashboard/requests/${request}`, request_rejected: `/dashboard/requests/${rejected}`,
  idempotency: "/dashboard/idempotency", idempotency_finished: "/dashboard/idempotency?state=finished",
  idempotency_review: "/dashboard/idempotency?state=needs_review", request_undecided: `/dashboard/requests/${undecided}`,
  events: "/dashboard/events", event: `/dashboard/events/${event}`, event_longest: `/dashboard/events/${longest}`, keys: "/dashboard/keys", processes: "/dashboard/processes",
  search: "/dashboard/search?q=nothing", missing: "/dashboard/no-such-page", nowhere: "/no-such-page",
  lab: "/lab", lab_matrix: "/lab/matrix", lab_run: "/lab/runs/ratchet/stopped",
  docs: "/docs", chapter: "/docs/tour/02-the-engine", simulated: "/docs/simulated", errors: "/docs/errors", reference: "/docs/api", charges: "/docs/api/charges",
});
