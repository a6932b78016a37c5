"""What stripe-python is asked to do. Each operation prints one line that matrix.go reads."""

import json
import os
import time
import urllib.request

import stripe

stripe.api_base = os.environ["RATCHET_URL"]
stripe.api_key = os.environ["RATCHET_KEY"]
stripe.max_network_retries = 0

# The errors are in stripe.error before version 8.
errors = stripe if hasattr(stripe, "CardError") else stripe.error
RETURN = "https://example.com/"
made = {}


def equal(got, want):
    assert got == want, "got %r, want %r" % (got, want)


def refused(call, kind, **want):
    try:
        call()
    except kind as error:
        for name, value in want.items():
            equal(getattr(error, name), value)
        return error
    raise AssertionError("was not refused")


def balance():
    equal(stripe.Balance.retrieve().object, "balance")


def create_customer():
    made["customer"] = stripe.Customer.create(email="jenny@example.com", metadata={"order": "6735"})
    equal(made["customer"].metadata["order"], "6735")


def update_customer():
    equal(stripe.Customer.modify(made["customer"].id, name="Jenny").name, "Jenny")


def all_pages():
    stripe.Customer.create()
    stripe.Customer.create()
    seen = 0
    for _ in stripe.Customer.list(limit=2).auto_paging_iter():
        seen += 1
        if seen == 3:
            break
    equal(seen, 3)


def delete_customer():
    equal(stripe.Customer.create().delete().deleted, True)


def charge():
    made["charge"] = stripe.Charge.create(amount=1000, currency="usd", source="tok_visa", expand=["balance_transaction"])
    equal(made["charge"].status, "succeeded")
    equal(made["charge"].balance_transaction.amount, 1000)


def decline():
    error = refused(lambda: stripe.Charge.create(amount=1000, currency="usd", source="tok_chargeDeclinedInsufficientFunds"),
                    errors.CardError, code="card_declined", http_status=402)
    equal(error.json_body["error"]["decline_code"], "insufficient_funds")


def capture():
    held = stripe.Charge.create(amount=1000, currency="usd", source="tok_visa", capture=False)
    equal(held.captured, False)
    equal(held.capture().captured, True)


def refund():
    equal(stripe.Refund.create(charge=made["charge"].id, amount=400).status, "succeeded")


def refund_of_nothing():
    refused(lambda: stripe.Refund.create(charge="ch_nobody"), errors.InvalidRequestError, http_status=404, code="resource_missing")


def pay():
    made["intent"] = stripe.PaymentIntent.create(
        amount=2000, currency="usd", payment_method="pm_card_visa", confirm=True, return_url=RETURN)
    equal(made["intent"].status, "succeeded")


def charge_of_intent():
    intent = stripe.PaymentIntent.retrieve(made["intent"].id)
    charge = intent["latest_charge"] if "latest_charge" in intent else intent.charges.data[0].id
    assert charge.startswith("ch_"), charge


def capture_part():
    held = stripe.PaymentIntent.create(
        amount=2000, currency="usd", payment_method="pm_card_visa", capture_method="manual", confirm=True, return_url=RETURN)
    equal(held.status, "requires_capture")
    equal(stripe.PaymentIntent.capture(held.id, amount_to_capture=1500).amount_received, 1500)


def cancel():
    equal(stripe.PaymentIntent.create(amount=2000, currency="usd").cancel().status, "canceled")


def attach():
    method = stripe.PaymentMethod.retrieve("pm_card_visa")
    equal(stripe.PaymentMethod.attach(method.id, customer=made["customer"].id).customer, made["customer"].id)


def set_up():
    equal(stripe.SetupIntent.create(customer=made["customer"].id, payment_method="pm_card_mastercard", confirm=True,
                                    return_url=RETURN).status, "succeeded")


def price():
    product = stripe.Product.create(name="Sledge")
    made["price"] = stripe.Price.create(product=product.id, currency="usd", unit_amount=1500)
    equal(made["price"].product, product.id)


def session():
    opened = stripe.checkout.Session.create(
        mode="payment", payment_method_types=["card"], line_items=[{"price": made["price"].id, "quantity": 2}],
        success_url=RETURN, cancel_url=RETURN)
    equal(opened.amount_total, 3000)
    assert opened.url.startswith("http"), opened.url


def idempotency():
    key = "matrix-%f" % time.time()
    first = stripe.Customer.create(name="Once", idempotency_key=key)
    equal(stripe.Customer.create(name="Once", idempotency_key=key).id, first.id)
    refused(lambda: stripe.Customer.create(name="Other", idempotency_key=key), errors.IdempotencyError, http_status=400)


def webhook():
    url = "%s/%d" % (os.environ["RATCHET_HOOK"], time.time() * 1000)
    wanted = {"api_version": stripe.api_version} if stripe.api_version else {}
    endpoint = stripe.WebhookEndpoint.create(url=url, enabled_events=["customer.created"], **wanted)
    customer = stripe.Customer.create()
    sent = json.load(urllib.request.urlopen(url))
    event = stripe.Webhook.construct_event(sent["body"], sent["signature"], endpoint.secret)
    equal(event.data.object.id, customer.id)
    endpoint.delete()


def events():
    equal(stripe.Event.list(limit=1, type="customer.created").data[0].type, "customer.created")


def wrong_parameter():
    refused(lambda: stripe.Customer.create(nonsense="1"), errors.InvalidRequestError, http_status=400,
            code="parameter_unknown", param="nonsense")


for name, run in [
    ("Balance.retrieve", balance), ("Customer.create", create_customer), ("Customer.modify", update_customer),
    ("Customer.list, all pages", all_pages), ("Customer.delete", delete_customer), ("Charge.create", charge),
    ("Charge.create, declined", decline), ("Charge.capture", capture), ("Refund.create", refund),
    ("Refund.create, of no charge", refund_of_nothing), ("PaymentIntent.create, confirmed", pay),
    ("PaymentIntent: the charge, where the version has it", charge_of_intent),
    ("PaymentIntent.capture, of a part", capture_part), ("PaymentIntent.cancel", cancel),
    ("PaymentMethod.retrieve and attach", attach), ("SetupIntent.create, confirmed", set_up),
    ("Product.create, Price.create", price), ("checkout.Session.create", session), ("an idempotency key", idempotency),
    ("WebhookEndpoint.create, and an event", webhook), ("Event.list", events), ("a wrong parameter", wrong_parameter),
]:
    try:
        run()
        print("ok\t" + name)
    except Exception as error:  # whatever it is, the table names it
        print("failed\t%s\t%s: %s" % (name, type(error).__name__, " ".join(str(error).split())))
