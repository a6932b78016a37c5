// What stripe-node is asked to do. Each operation prints one line that matrix.go reads.
const assert = require('assert');
const Stripe = require('stripe');

const address = new URL(process.env.RATCHET_URL);
const stripe = new Stripe(process.env.RATCHET_KEY, {
  host: address.hostname, port: Number(address.port), protocol: 'http', maxNetworkRetries: 0,
});
const apiVersion = stripe.getApiField('version');

const operations = [];
const operation = (name, run) => operations.push({ name, run });
const made = {};

async function refused(promise, want) {
  const error = await promise.then(() => assert.fail('was not refused'), (e) => e);
  for (const [name, value] of Object.entries(want)) assert.equal(error[name], value, `${name}: ${error.message}`);
}

operation('balance.retrieve', async () => assert.equal((await stripe.balance.retrieve()).object, 'balance'));
operation('customers.create', async () => {
  made.customer = await stripe.customers.create({ email: 'jenny@example.com', metadata: { order: '6735' } });
  assert.equal(made.customer.metadata.order, '6735');
});
operation('customers.update', async () => {
  assert.equal((await stripe.customers.update(made.customer.id, { name: 'Jenny' })).name, 'Jenny');
});
operation('customers.list, all pages', async () => {
  await stripe.customers.create();
  await stripe.customers.create();
  let seen = 0;
  await stripe.customers.list({ limit: 2 }).autoPagingEach(() => ++seen < 3);
  assert.equal(seen, 3);
});
operation('customers.del', async () => {
  const customer = await stripe.customers.create();
  assert.equal((await stripe.customers.del(customer.id)).deleted, true);
});
operation('charges.create', async () => {
  made.charge = await stripe.charges.create({ amount: 1000, currency: 'usd', source: 'tok_visa', expand: ['balance_transaction'] });
  assert.equal(made.charge.status, 'succeeded');
  assert.equal(made.charge.balance_transaction.amount, 1000);
});
operation('charges.create, declined', () => refused(
  stripe.charges.create({ amount: 1000, currency: 'usd', source: 'tok_chargeDeclinedInsufficientFunds' }),
  { type: 'StripeCardError', statusCode: 402, code: 'card_declined', decline_code: 'insufficient_funds' }));
operation('charges.capture', async () => {
  const charge = await stripe.charges.create({ amount: 1000, currency: 'usd', source: 'tok_visa', capture: false });
  assert.equal(charge.captured, false);
  assert.equal((await stripe.charges.capture(charge.id)).captured, true);
});
operation('refunds.create', async () => {
  assert.equal((await stripe.refunds.create({ charge: made.charge.id, amount: 400 })).status, 'succeeded');
});
operation('refunds.create, of no charge', () => refused(
  stripe.refunds.create({ charge: 'ch_nobody' }), { type: 'StripeInvalidRequestError', statusCode: 404, code: 'resource_missing' }));
operation('paymentIntents.create, confirmed', async () => {
  made.intent = await stripe.paymentIntents.create({
    amount: 2000, currency: 'usd', payment_method: 'pm_card_visa', confirm: true, return_url: 'https://example.com/',
  });
  assert.equal(made.intent.status, 'succeeded');
});
operation('paymentIntents: the charge, where the version has it', async () => {
  const intent = await stripe.paymentIntents.retrieve(made.intent.id);
  const charge = !apiVersion || apiVersion >= '2022-11-15' ? intent.latest_charge : intent.charges.data[0].id;
  assert.match(charge || intent.charges.data[0].id, /^ch_/);
});
operation('paymentIntents.capture, of a part', async () => {
  const intent = await stripe.paymentIntents.create({
    amount: 2000, currency: 'usd', payment_method: 'pm_card_visa', capture_method: 'manual', confirm: true, return_url: 'https://example.com/',
  });
  assert.equal(intent.status, 'requires_capture');
  assert.equal((await stripe.paymentIntents.capture(intent.id, { amount_to_capture: 1500 })).amount_received, 1500);
});
operation('paymentIntents.cancel', async () => {
  const intent = await stripe.paymentIntents.create({ amount: 2000, currency: 'usd' });
  assert.equal((await stripe.paymentIntents.cancel(intent.id)).status, 'canceled');
});
operation('paymentMethods.retrieve and attach', async () => {
  const method = await stripe.paymentMethods.retrieve('pm_card_visa');
  assert.equal((await stripe.paymentMethods.attach(method.id, { customer: made.customer.id })).customer, made.customer.id);
});
operation('setupIntents.create, confirmed', async () => {
  const intent = await stripe.setupIntents.create({
    customer: made.customer.id, payment_method: 'pm_card_mastercard', confirm: true, return_url: 'https://example.com/',
  });
  assert.equal(intent.status, 'succeeded');
});
operation('products.create, prices.create', async () => {
  const product = await stripe.products.create({ name: 'Sledge' });
  made.price = await stripe.prices.create({ product: product.id, currency: 'usd', unit_amount: 1500 });
  assert.equal(made.price.product, product.id);
});
operation('checkout.sessions.create', async () => {
  const session = await stripe.checkout.sessions.create({
    mode: 'payment', payment_method_types: ['card'], line_items: [{ price: made.price.id, quantity: 2 }],
    success_url: 'https://example.com/', cancel_url: 'https://example.com/',
  });
  assert.equal(session.amount_total, 3000);
  assert.match(session.url, /^http/);
});
operation('an idempotency key', async () => {
  const key = `matrix-${Date.now()}`;
  const first = await stripe.customers.create({ name: 'Once' }, { idempotencyKey: key });
  const again = await stripe.customers.create({ name: 'Once' }, { idempotencyKey: key });
  assert.equal(again.id, first.id);
  await refused(stripe.customers.create({ name: 'Other' }, { idempotencyKey: key }), { type: 'StripeIdempotencyError', statusCode: 400 });
});
operation('webhookEndpoints.create, and an event', async () => {
  const url = `${process.env.RATCHET_HOOK}/${Date.now()}`;
  const endpoint = await stripe.webhookEndpoints.create({
    url, enabled_events: ['customer.created'], ...(apiVersion && { api_version: apiVersion }),
  });
  const customer = await stripe.customers.create();
  const { body, signature } = await (await fetch(url)).json();
  const event = stripe.webhooks.constructEvent(body, signature, endpoint.secret);
  assert.equal(event.data.object.id, customer.id);
  await stripe.webhookEndpoints.del(endpoint.id);
});
operation('events.list', async () => {
  const events = await stripe.events.list({ limit: 1, type: 'customer.created' });
  assert.equal(events.data[0].type, 'customer.created');
});
operation('a wrong parameter', () => refused(
  stripe.customers.create({ nonsense: '1' }), { type: 'StripeInvalidRequestError', statusCode: 400, code: 'parameter_unknown', param: 'nonsense' }));

(async () => {
  for (const { name, run } of operations) {
    try {
      await run();
      console.log(`ok\t${name}`);
    } catch (error) {
      console.log(`failed\t${name}\t${String(error.message).replace(/\s+/g, ' ')}`);
    }
  }
})();
