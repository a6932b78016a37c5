# What stripe-ruby is asked to do. Each operation prints one line that matrix.go reads.
require "json"
require "net/http"
require "stripe"

Stripe.api_base = ENV.fetch("RATCHET_URL")
Stripe.api_key = ENV.fetch("RATCHET_KEY")
Stripe.max_network_retries = 0

RETURN = "https://example.com/".freeze
@made = {}

def equal(got, want)
  raise "got #{got.inspect}, want #{want.inspect}" unless got == want
end

def refused(kind, status, code = nil)
  yield
rescue kind => e
  equal([e.http_status, code && e.code], [status, code])
else
  raise "was not refused"
end

def operation(name)
  yield
  puts "ok\t#{name}"
rescue StandardError => e
  puts "failed\t#{name}\t#{e.class}: #{e.message.split.join(' ')}"
end

operation("Balance.retrieve") { equal(Stripe::Balance.retrieve.object, "balance") }
operation("Customer.create") do
  @made[:customer] = Stripe::Customer.create(email: "jenny@example.com", metadata: { order: "6735" })
  equal(@made[:customer].metadata["order"], "6735")
end
operation("Customer.update") { equal(Stripe::Customer.update(@made[:customer].id, name: "Jenny").name, "Jenny") }
operation("Customer.list, all pages") do
  2.times { Stripe::Customer.create }
  equal(Stripe::Customer.list(limit: 2).auto_paging_each.first(3).size, 3)
end
operation("Customer.delete") { equal(Stripe::Customer.delete(Stripe::Customer.create.id).deleted, true) }
operation("Charge.create") do
  @made[:charge] = Stripe::Charge.create(amount: 1000, currency: "usd", source: "tok_visa", expand: ["balance_transaction"])
  equal([@made[:charge].status, @made[:charge].balance_transaction.amount], ["succeeded", 1000])
end
operation("Charge.create, declined") do
  refused(Stripe::CardError, 402, "card_declined") do
    Stripe::Charge.create(amount: 1000, currency: "usd", source: "tok_chargeDeclinedInsufficientFunds")
  end
end
operation("Charge.capture") do
  held = Stripe::Charge.create(amount: 1000, currency: "usd", source: "tok_visa", capture: false)
  equal([held.captured, Stripe::Charge.capture(held.id).captured], [false, true])
end
operation("Refund.create") { equal(Stripe::Refund.create(charge: @made[:charge].id, amount: 400).status, "succeeded") }
operation("Refund.create, of no charge") do
  refused(Stripe::InvalidRequestError, 404, "resource_missing") { Stripe::Refund.create(charge: "ch_nobody") }
end
operation("PaymentIntent.create, confirmed") do
  @made[:intent] = Stripe::PaymentIntent.create(
    amount: 2000, currency: "usd", payment_method: "pm_card_visa", confirm: true, return_url: RETURN
  )
  equal(@made[:intent].status, "succeeded")
end
operation("PaymentIntent: the charge, where the version has it") do
  intent = Stripe::PaymentIntent.retrieve(@made[:intent].id).to_hash
  charge = intent[:latest_charge] || intent[:charges][:data][0][:id]
  equal(charge[0, 3], "ch_")
end
operation("PaymentIntent.capture, of a part") do
  held = Stripe::PaymentIntent.create(
    amount: 2000, currency: "usd", payment_method: "pm_card_visa", capture_method: "manual", confirm: true, return_url: RETURN
  )
  equal([held.status, Stripe::PaymentIntent.capture(held.id, amount_to_capture: 1500).amount_received], ["requires_capture", 1500])
end
operation("PaymentIntent.cancel") do
  equal(Stripe::PaymentIntent.cancel(Stripe::PaymentIntent.create(amount: 2000, currency: "usd").id).status, "canceled")
end
operation("PaymentMethod.retrieve and attach") do
  method = Stripe::PaymentMethod.retrieve("pm_card_visa")
  equal(Stripe::PaymentMethod.attach(method.id, customer: @made[:customer].id).customer, @made[:customer].id)
end
operation("SetupIntent.create, confirmed") do
  equal(Stripe::SetupIntent.create(customer: @made[:customer].id, payment_method: "pm_card_mastercard", confirm: true,
                                   return_url: RETURN).status, "succeeded")
end
operation("Product.create, Price.create") do
  product = Stripe::Product.create(name: "Sledge")
  @made[:price] = Stripe::Price.create(product: product.id, currency: "usd", unit_amount: 1500)
  equal(@made[:price].product, product.id)
end
operation("Checkout::Session.create") do
  session = Stripe::Checkout::Session.create(
    mode: "payment", payment_method_types: ["card"], line_items: [{ price: @made[:price].id, quantity: 2 }],
    success_url: RETURN, cancel_url: RETURN
  )
  equal([session.amount_total, session.url[0, 4]], [3000, "http"])
end
operation("an idempotency key") do
  key = { idempotency_key: "matrix-#{Time.now.to_f}" }
  first = Stripe::Customer.create({ name: "Once" }, key.dup)
  equal(Stripe::Customer.create({ name: "Once" }, key.dup).id, first.id)
  refused(Stripe::IdempotencyError, 400) { Stripe::Customer.create({ name: "Other" }, key.dup) }
end
operation("WebhookEndpoint.create, and an event") do
  url = "#{ENV.fetch('RATCHET_HOOK')}/#{(Time.now.to_f * 1000).to_i}"
  wanted = Stripe.api_version ? { api_version: Stripe.api_version } : {}
  endpoint = Stripe::WebhookEndpoint.create({ url: url, enabled_events: ["customer.created"] }.merge(wanted))
  customer = Stripe::Customer.create
  sent = JSON.parse(Net::HTTP.get(URI(url)))
  event = Stripe::Webhook.construct_event(sent["body"], sent["signature"], endpoint.secret)
  equal(event.data.object.id, customer.id)
  Stripe::WebhookEndpoint.delete(endpoint.id)
end
operation("Event.list") { equal(Stripe::Event.list(limit: 1, type: "customer.created").data[0].type, "customer.created") }
operation("a wrong parameter") do
  refused(Stripe::InvalidRequestError, 400, "parameter_unknown") { Stripe::Customer.create(nonsense: "1") }
end
