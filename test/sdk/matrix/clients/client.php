<?php
// What stripe-php is asked to do. Each operation prints one line that matrix.go reads.
error_reporting(E_ALL & ~E_DEPRECATED);
require getenv('RATCHET_SDK') . '/init.php';

\Stripe\Stripe::$apiBase = getenv('RATCHET_URL'); // which the pages of a list are asked from
$stripe = new \Stripe\StripeClient(['api_key' => getenv('RATCHET_KEY'), 'api_base' => getenv('RATCHET_URL')]);
$return = 'https://example.com/';
$made = new stdClass();

function equal($got, $want)
{
    if ($got !== $want) {
        throw new \RuntimeException('got ' . json_encode($got) . ', want ' . json_encode($want));
    }
}

function refused($kind, $status, $code, $call)
{
    try {
        $call();
    } catch (\Stripe\Exception\ApiErrorException $error) {
        equal([get_class($error), $error->getHttpStatus(), $error->getStripeCode()], [$kind, $status, $code]);

        return;
    }
    throw new \RuntimeException('was not refused');
}

$operations = [
    'balance->retrieve' => function () use ($stripe) {
        equal($stripe->balance->retrieve()->object, 'balance');
    },
    'customers->create' => function () use ($stripe, $made) {
        $made->customer = $stripe->customers->create(['email' => 'jenny@example.com', 'metadata' => ['order' => '6735']]);
        equal($made->customer->metadata['order'], '6735');
    },
    'customers->update' => function () use ($stripe, $made) {
        equal($stripe->customers->update($made->customer->id, ['name' => 'Jenny'])->name, 'Jenny');
    },
    'customers->all, all pages' => function () use ($stripe) {
        $stripe->customers->create();
        $stripe->customers->create();
        $seen = 0;
        foreach ($stripe->customers->all(['limit' => 2])->autoPagingIterator() as $_) {
            if (++$seen === 3) {
                break;
            }
        }
        equal($seen, 3);
    },
    'customers->delete' => function () use ($stripe) {
        equal($stripe->customers->delete($stripe->customers->create()->id)->deleted, true);
    },
    'charges->create' => function () use ($stripe, $made) {
        $made->charge = $stripe->charges->create([
            'amount' => 1000, 'currency' => 'usd', 'source' => 'tok_visa', 'expand' => ['balance_transaction'],
        ]);
        equal([$made->charge->status, $made->charge->balance_transaction->amount], ['succeeded', 1000]);
    },
    'charges->create, declined' => function () use ($stripe) {
        refused(\Stripe\Exception\CardException::class, 402, 'card_declined', function () use ($stripe) {
            $stripe->charges->create(['amount' => 1000, 'currency' => 'usd', 'source' => 'tok_chargeDeclinedInsufficientFunds']);
        });
    },
    'charges->capture' => function () use ($stripe) {
        $held = $stripe->charges->create(['amount' => 1000, 'currency' => 'usd', 'source' => 'tok_visa', 'capture' => false]);
        equal([$held->captured, $stripe->charges->capture($held->id)->captured], [false, true]);
    },
    'refunds->create' => function () use ($stripe, $made) {
        equal($stripe->refunds->create(['charge' => $made->charge->id, 'amount' => 400])->status, 'succeeded');
    },
    'refunds->create, of no charge' => function () use ($stripe) {
        refused(\Stripe\Exception\InvalidRequestException::class, 404, 'resource_missing', function () use ($stripe) {
            $stripe->refunds->create(['charge' => 'ch_nobody']);
        });
    },
    'paymentIntents->create, confirmed' => function () use ($stripe, $made, $return) {
        $made->intent = $stripe->paymentIntents->create([
            'amount' => 2000, 'currency' => 'usd', 'payment_method' => 'pm_card_visa', 'confirm' => true, 'return_url' => $return,
        ]);
        equal($made->intent->status, 'succeeded');
    },
    'paymentIntents: the charge, where the version has it' => function () use ($stripe, $made) {
        $intent = $stripe->paymentIntents->retrieve($made->intent->id)->toArray();
        equal(substr($intent['latest_charge'] ?? $intent['charges']['data'][0]['id'], 0, 3), 'ch_');
    },
    'paymentIntents->capture, of a part' => function () use ($stripe, $return) {
        $held = $stripe->paymentIntents->create([
            'amount' => 2000, 'currency' => 'usd', 'payment_method' => 'pm_card_visa', 'capture_method' => 'manual',
            'confirm' => true, 'return_url' => $return,
        ]);
        $captured = $stripe->paymentIntents->capture($held->id, ['amount_to_capture' => 1500]);
        equal([$held->status, $captured->amount_received], ['requires_capture', 1500]);
    },
    'paymentIntents->cancel' => function () use ($stripe) {
        $intent = $stripe->paymentIntents->create(['amount' => 2000, 'currency' => 'usd']);
        equal($stripe->paymentIntents->cancel($intent->id)->status, 'canceled');
    },
    'paymentMethods->retrieve and attach' => function () use ($stripe, $made) {
        $method = $stripe->paymentMethods->retrieve('pm_card_visa');
        $attached = $stripe->paymentMethods->attach($method->id, ['customer' => $made->customer->id]);
        equal($attached->customer, $made->customer->id);
    },
    'setupIntents->create, confirmed' => function () use ($stripe, $made, $return) {
        $intent = $stripe->setupIntents->create([
            'customer' => $made->customer->id, 'payment_method' => 'pm_card_mastercard', 'confirm' => true, 'return_url' => $return,
        ]);
        equal($intent->status, 'succeeded');
    },
    'products->create, prices->create' => function () use ($stripe, $made) {
        $product = $stripe->products->create(['name' => 'Sledge']);
        $made->price = $stripe->prices->create(['product' => $product->id, 'currency' => 'usd', 'unit_amount' => 1500]);
        equal($made->price->product, $product->id);
    },
    'checkout->sessions->create' => function () use ($stripe, $made, $return) {
        $session = $stripe->checkout->sessions->create([
            'mode' => 'payment', 'payment_method_types' => ['card'], 'success_url' => $return, 'cancel_url' => $return,
            'line_items' => [['price' => $made->price->id, 'quantity' => 2]],
        ]);
        equal([$session->amount_total, substr($session->url, 0, 4)], [3000, 'http']);
    },
    'an idempotency key' => function () use ($stripe) {
        $key = ['idempotency_key' => uniqid('matrix-', true)];
        $first = $stripe->customers->create(['name' => 'Once'], $key);
        equal($stripe->customers->create(['name' => 'Once'], $key)->id, $first->id);
        refused(\Stripe\Exception\IdempotencyException::class, 400, null, function () use ($stripe, $key) {
            $stripe->customers->create(['name' => 'Other'], $key);
        });
    },
    'webhookEndpoints->create, and an event' => function () use ($stripe) {
        $url = getenv('RATCHET_HOOK') . '/' . (int) (microtime(true) * 1000);
        $version = class_exists('\Stripe\Util\ApiVersion') ? ['api_version' => \Stripe\Util\ApiVersion::CURRENT] : [];
        $endpoint = $stripe->webhookEndpoints->create(['url' => $url, 'enabled_events' => ['customer.created']] + $version);
        $customer = $stripe->customers->create();
        $sent = json_decode(file_get_contents($url), true);
        $event = \Stripe\Webhook::constructEvent($sent['body'], $sent['signature'], $endpoint->secret);
        equal($event->data->object->id, $customer->id);
        $stripe->webhookEndpoints->delete($endpoint->id);
    },
    'events->all' => function () use ($stripe) {
        equal($stripe->events->all(['limit' => 1, 'type' => 'customer.created'])->data[0]->type, 'customer.created');
    },
    'a wrong parameter' => function () use ($stripe) {
        refused(\Stripe\Exception\InvalidRequestException::class, 400, 'parameter_unknown', function () use ($stripe) {
            $stripe->customers->create(['nonsense' => '1']);
        });
    },
];

foreach ($operations as $name => $run) {
    try {
        $run();
        echo "ok\t{$name}\n";
    } catch (\Throwable $error) {
        echo "failed\t{$name}\t" . get_class($error) . ': ' . preg_replace('/\s+/', ' ', $error->getMessage()) . "\n";
    }
}
