// A merchant's page in React, with Stripe's own wrapper: @stripe/react-stripe-js and @stripe/stripe-js
// as npm has them. loadStripe takes the Stripe of the script that the page has loaded before.
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { loadStripe } from "@stripe/stripe-js";
import { AddressElement, CardElement, Elements, EmbeddedCheckout, EmbeddedCheckoutProvider, LinkAuthenticationElement, PaymentElement, useElements, useStripe } from "@stripe/react-stripe-js";
import { CheckoutElementsProvider, PaymentElement as CheckoutPaymentElement, useCheckoutElements } from "@stripe/react-stripe-js/checkout";

const query = new URLSearchParams(location.search), clientSecret = query.get("secret");
const stripePromise = loadStripe("pk_test_ratchet_demo");

// Form pays when its button is pressed, and shows what pay returns.
function Form({ pay, ready, children }) {
  const [said, say] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    say((await pay()) ?? "");
  };
  return <form onSubmit={submit}>{children}<button disabled={!ready}>Pay now</button><p role="status">{said}</p></form>;
}

function Payment() {
  const stripe = useStripe(), elements = useElements();
  const [complete, setComplete] = useState(false);
  const pay = async () => (await stripe.confirmPayment({ elements, confirmParams: { return_url: `${location.origin}/return.html` } })).error.message;
  return <Form pay={pay} ready={stripe && complete}>
    <LinkAuthenticationElement />
    <AddressElement options={{ mode: "shipping" }} />
    <PaymentElement onChange={(event) => setComplete(event.complete)} />
  </Form>;
}

function Deferred() {
  const stripe = useStripe(), elements = useElements();
  const pay = async () => {
    const { error: wrong } = await elements.submit();
    if (wrong) return wrong.message;
    const { error } = await stripe.confirmPayment({ elements, clientSecret, confirmParams: { return_url: `${location.origin}/return.html` } });
    return error.message;
  };
  return <Form pay={pay} ready={stripe}><PaymentElement /></Form>;
}

function Card() {
  const stripe = useStripe(), elements = useElements();
  const pay = async () => {
    const { error, paymentIntent } = await stripe.confirmCardPayment(clientSecret, { payment_method: { card: elements.getElement(CardElement) } });
    return error?.message ?? `Payment ${paymentIntent.status}`;
  };
  return <Form pay={pay} ready={stripe}><CardElement /></Form>;
}

function Checkout() {
  const state = useCheckoutElements();
  if (state.type !== "success") return <p>{state.type === "error" ? state.error.message : "Loading"}</p>;
  const { checkout } = state;
  const pay = async () => (await checkout.confirm()).error?.message;
  return <Form pay={pay} ready={checkout.canConfirm}><h2>{checkout.total.total.amount}</h2><CheckoutPaymentElement /></Form>;
}

const pages = {
  payment: () => <Elements stripe={stripePromise} options={{ clientSecret }}><Payment /></Elements>,
  deferred: () => <Elements stripe={stripePromise} options={{ mode: "payment", amount: 1400, currency: "usd" }}><Deferred /></Elements>,
  card: () => <Elements stripe={stripePromise}><Card /></Elements>,
  checkout: () => <CheckoutElementsProvider stripe={stripePromise} options={{ clientSecret }}><Checkout /></CheckoutElementsProvider>,
  embedded: () => <EmbeddedCheckoutProvider stripe={stripePromise} options={{ clientSecret }}><EmbeddedCheckout /></EmbeddedCheckoutProvider>,
};
const Page = pages[query.get("page")];
createRoot(document.getElementById("root")).render(<Page />);
