-- A small shop with a row in every table whose rows are protected: a trigger
-- for rows has nothing to refuse where there are none.
INSERT INTO accounts (id, name) VALUES ('acct_1', 'Shop'), ('acct_2', 'Another shop');
INSERT INTO api_keys (id, account_id, livemode, kind, hash, display) VALUES ('key_1', 'acct_1', false, 'secret', sha256('1'), 'sk_test_…1');

INSERT INTO flows VALUES ('charge', 1, 'digest');
INSERT INTO recovery_points VALUES ('charge', 1, 'started', 0, 'atomic'), ('charge', 1, 'authorized', 1, 'foreign'), ('charge', 1, 'captured', 2, 'atomic');

WITH story (id, state) AS (
    VALUES ('req_running', 'running'), ('req_parked', 'parked'), ('req_review', 'needs_review'), ('req_finished', 'finished'), ('req_archived', 'archived')
), asked AS (
    INSERT INTO requests (account_id, id, livemode, key, key_generated, method, path, fingerprint, fingerprint_version, params, context, flow, version, created_at)
    SELECT 'acct_1', id, false, 'key of ' || id, false, 'POST', '/v1/charges', '\x01', 1, '{}', '{}', 'charge', 1, now() FROM story
    RETURNING account_id, id, flow, version
), begun AS (
    INSERT INTO runs (account_id, request_id, flow, version, state, epoch, recovery_points, reached_at, reached_epochs,
        call_phases, call_keys, call_generations, call_sent_at, call_attempts, state_data, owner, lease_until, due_at, reason)
    SELECT q.account_id, q.id, q.flow, q.version, state, 2, '{started}', ARRAY[now()], '{1}',
           '{authorized}', ARRAY['key under ' || id], '{1}', ARRAY[now()], '{1}', '{}',
           CASE WHEN state = 'running' THEN 'worker_1' END,
           CASE WHEN state = 'running' THEN now() END,
           CASE WHEN state = 'parked' THEN now() END,
           CASE WHEN state = 'needs_review' THEN 'the acquirer says nothing' END
      FROM asked q JOIN story USING (id) WHERE state IN ('running', 'parked', 'needs_review')
)
INSERT INTO answers (account_id, request_id, status, headers, body, recovery_points, reached_at, reached_epochs,
    call_phases, call_keys, call_generations, call_sent_at, call_attempts, finished_at, expires_at)
SELECT q.account_id, q.id, 200, '{}', '{}', '{started,authorized}', ARRAY[now(), now()], '{1,2}',
       '{authorized}', ARRAY['key under ' || id], '{1}', ARRAY[now()], '{0}', now(), now()
  FROM asked q JOIN story USING (id) WHERE state IN ('finished', 'archived');
INSERT INTO archived_answers (account_id, request_id, headers, body) VALUES ('acct_1', 'req_archived', '{}', '{}');
UPDATE answers SET archived_at = now(), headers = NULL, body = NULL WHERE request_id = 'req_archived';
INSERT INTO foreign_calls (account_id, request_id, phase, generation, derived_key, sent_at, attempts, proof)
VALUES ('acct_1', 'req_review', 'authorized', 1, 'key under req_review', now(), 1, 'no such charge');
UPDATE runs SET call_phases = '{}', call_keys = '{}', call_generations = '{}', call_sent_at = '{}', call_attempts = '{}' WHERE request_id = 'req_review';
INSERT INTO takeovers (account_id, request_id, epoch, was, point, owner) VALUES ('acct_1', 'req_running', 2, 'parked', 'started', 'worker_1');
INSERT INTO fence_refusals (account_id, request_id, epoch) VALUES ('acct_1', 'req_running', 2);

-- The identities of a new database begin at 1: these are books 1 and 2.
INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_1', false, 'usd');
INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_1', false, 'eur');

INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, created_at, available_on, reverses, request_id) VALUES
    (1, 'txn_available', 'ch_1', 'charge', '{gross,stripe_fee}', '{processor_receivable,merchant_balance}', '{merchant_balance,fee_revenue}', '{1000,59}',
        now() - interval '1 second', now() - interval '1 second', NULL, 'req_finished'),
    (1, 'txn_pending', 'ch_2', 'charge', '{gross}', '{processor_receivable}', '{merchant_balance}', '{500}', now(), now() + interval '2 days', NULL, 'req_archived'),
    (1, 'txn_wrong', 'mistake', 'adjustment', '{gross}', '{suspense}', '{merchant_balance}', '{70}', now(), now(), NULL, 'req_finished');
INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, created_at, available_on, reverses, request_id) VALUES
    (1, 'txn_reversal', 'txn_wrong', 'reversal', '{gross}', '{merchant_balance}', '{suspense}', '{70}', now(), now(), 'txn_wrong', 'req_finished'),
    (2, 'txn_euro', 'ch_euro', 'charge', '{gross}', '{processor_receivable}', '{merchant_balance}', '{800}', now(), now(), NULL, 'req_finished');
INSERT INTO ledger_refund_chain (book_id, charge, charge_amount, place, refund, prior, amount) VALUES (1, 'ch_1', 1000, 1, 're_1', 0, 300);

INSERT INTO customers (account_id, id, livemode, request_id, invoice_prefix, created_at) VALUES ('acct_1', 'cus_1', false, 'req_finished', 'A', now());
INSERT INTO cards (account_id, id, livemode, request_id, customer_id, card, created_at) VALUES ('acct_1', 'card_1', false, 'req_finished', 'cus_1', '{}', now());
INSERT INTO tokens (account_id, id, livemode, request_id, card, card_id, created_at) VALUES ('acct_1', 'tok_1', false, 'req_finished', '{}', 'card_1', now());
INSERT INTO charges (account_id, id, livemode, request_id, amount, amount_captured, amount_refunded, currency, status, captured, card,
    acquirer_reference, failure_code, balance_transaction, created_at) VALUES
    ('acct_1', 'ch_1', false, 'req_finished', 1000, 1000, 300, 'usd', 'succeeded', true, '{}', 'auth_1', NULL, 'txn_available', now()),
    ('acct_1', 'ch_failed', false, 'req_failed', 1000, 0, 0, 'usd', 'failed', false, '{}', NULL, 'card_declined', NULL, now());
INSERT INTO payment_methods (account_id, id, livemode, request_id, customer_id, card, billing_details, created_at)
VALUES ('acct_1', 'pm_1', false, 'req_finished', 'cus_1', '{}', '{}', now());
INSERT INTO confirmation_tokens (account_id, id, livemode, request_id, payment_method_id, created_at, expires_at)
    VALUES ('acct_1', 'ctoken_1', false, 'req_finished', 'pm_1', now(), now() + interval '12 hours');
INSERT INTO payment_intents (account_id, id, livemode, request_id, amount, amount_received, currency, status, client_secret, capture_method,
    confirmation_method, payment_method_types, payment_method_options, latest_charge, created_at) VALUES
    ('acct_1', 'pi_1', false, 'req_finished', 1000, 1000, 'usd', 'succeeded', 'pi_1_secret_1', 'automatic', 'automatic', '{card}', '{}', 'ch_intent', now()),
    ('acct_1', 'pi_open', false, 'req_finished', 1000, 0, 'usd', 'requires_confirmation', 'pi_open_secret_1', 'automatic', 'automatic', '{card}', '{}', NULL, now());
INSERT INTO setup_intents (account_id, id, livemode, request_id, status, client_secret, usage, payment_method_types, payment_method_options, created_at)
VALUES ('acct_1', 'seti_1', false, 'req_finished', 'requires_payment_method', 'seti_1_secret_1', 'off_session', '{card}', '{}', now());
INSERT INTO setup_attempts (account_id, id, livemode, request_id, setup_intent_id, status, payment_method_id, payment_method_details, setup_error, usage, created_at) VALUES
    ('acct_1', 'setatt_1', false, 'req_failed', 'seti_1', 'failed', 'pm_1', '{}', '{"message": "Your card was declined."}', 'off_session', now()),
    ('acct_1', 'setatt_open', false, 'req_finished', 'seti_1', 'requires_action', 'pm_1', '{}', NULL, 'off_session', now());
UPDATE setup_intents SET latest_attempt = 'setatt_open' WHERE id = 'seti_1';
INSERT INTO charges (account_id, id, livemode, request_id, payment_intent_id, amount, amount_captured, currency, status, captured, card, acquirer_reference, balance_transaction, created_at)
VALUES ('acct_1', 'ch_intent', false, 'req_intent', 'pi_1', 1000, 1000, 'usd', 'succeeded', true, '{}', 'auth_intent', 'txn_intent', now());
INSERT INTO refunds (account_id, id, livemode, request_id, charge_id, amount, currency, status, kind, failure_reason, balance_transaction, created_at) VALUES
    ('acct_1', 're_1', false, 'req_refund', 'ch_1', 300, 'usd', 'succeeded', 'refund', NULL, 'txn_refund', now()),
    ('acct_1', 're_failed', false, 'req_refund_failed', 'ch_1', 100, 'usd', 'failed', 'refund', 'lost_or_stolen_card', NULL, now());

INSERT INTO payouts (account_id, id, livemode, request_id, amount, currency, status, automatic_on, method, destination, bank_reference,
    balance_transaction, departs_at, arrives_at, created_at)
VALUES ('acct_1', 'po_paid', false, 'req_payout', 100, 'usd', 'paid', '2026-11-20', 'standard', 'ba_1', 'pout_1', 'txn_paid_out', now(), now(), now());
INSERT INTO ledger_swept (book_id, posting_id, payout) VALUES (1, 'txn_wrong', 'po_paid');
INSERT INTO test_clocks (account_id, id, request_id, started_at, frozen_time, advanced_at, created_at)
VALUES ('acct_2', 'clock_1', 'req_clock', now(), now() + interval '1 hour', now(), now());

INSERT INTO products (account_id, id, livemode, request_id, name, active, images, marketing_features, metadata, created_at, updated_at)
VALUES ('acct_1', 'prod_1', false, 'req_finished', 'Sledge', true, '{}', '[]', '{}', now(), now());
INSERT INTO prices (account_id, id, livemode, request_id, product_id, active, currency, unit_amount, lookup_key, metadata, tax_behavior, created_at)
VALUES ('acct_1', 'price_1', false, 'req_finished', 'prod_1', true, 'usd', 500, 'standard', '{}', 'unspecified', now());
INSERT INTO coupons (account_id, id, livemode, request_id, percent_off, duration, max_redemptions, metadata, times_redeemed, times_reserved, created_at)
VALUES ('acct_1', 'coupon_1', false, 'req_finished', 1000, 'once', 3, '{}', 1, 1, now());
INSERT INTO promotion_codes (account_id, id, livemode, request_id, coupon_id, code, active, first_time_transaction, metadata, created_at)
VALUES ('acct_1', 'promo_1', false, 'req_finished', 'coupon_1', 'SPRING', true, false, '{}', now());
INSERT INTO shipping_rates (account_id, id, livemode, request_id, active, display_name, amount, currency, metadata, tax_behavior, created_at)
VALUES ('acct_1', 'shr_1', false, 'req_finished', true, 'Standard', 500, 'usd', '{}', 'unspecified', now());
INSERT INTO checkout_sessions (account_id, id, livemode, request_id, mode, status, payment_status, amount_subtotal, amount_total, currency,
    metadata, options, success_url, url, attempts, payment_intent_id, setup_intent_id, expires_at, created_at) VALUES
    ('acct_1', 'cs_paid', false, 'req_finished', 'payment', 'complete', 'paid', 1000, 1000, 'usd', '{}', '{}', 'https://a', 'https://b', 1, 'pi_1', NULL, now(), now()),
    ('acct_1', 'cs_open', false, 'req_finished', 'payment', 'open', 'unpaid', 1000, 1000, 'usd', '{}', '{}', 'https://a', 'https://b', 0, NULL, NULL, now(), now()),
    ('acct_1', 'cs_setup', false, 'req_finished', 'setup', 'open', 'no_payment_required', NULL, NULL, NULL, '{}', '{}', 'https://a', 'https://b', 0, NULL, 'seti_1', now(), now());
INSERT INTO checkout_items (account_id, id, session_id, livemode, price_id, description, quantity, amount, metadata, created_at)
VALUES ('acct_1', 'li_1', 'cs_paid', false, 'price_1', 'Sledge', 2, 1000, '{}', now());
INSERT INTO payment_links (account_id, id, livemode, request_id, active, currency, url, metadata, options, created_at)
VALUES ('acct_1', 'plink_1', false, 'req_finished', true, 'usd', 'https://b', '{}', '{}', now());
INSERT INTO payment_link_items (account_id, id, link_id, livemode, price_id, quantity, created_at)
VALUES ('acct_1', 'li_of_link', 'plink_1', false, 'price_1', 2, now());
UPDATE payment_intents SET checkout_session = 'cs_paid' WHERE id = 'pi_1';
UPDATE setup_intents SET checkout_session = 'cs_setup' WHERE id = 'seti_1';
INSERT INTO events (account_id, id, livemode, type, object_id, data, api_version, request_id, created_at)
VALUES ('acct_1', 'evt_1', false, 'charge.succeeded', 'ch_1', '{}', '2019-12-03', 'req_finished', now());
INSERT INTO webhook_endpoints (account_id, id, livemode, request_id, slot, url, enabled_events, created_at, changed_at)
VALUES ('acct_1', 'we_1', false, 'req_finished', 1, 'https://shop.example.com/', '{*}', now(), now());
INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, attempts, due_at, created_at) VALUES ('acct_1', 'evt_1', 'we_1', 1, now(), now());
INSERT INTO webhook_attempts (account_id, event_id, endpoint_id, attempt, started_at) VALUES ('acct_1', 'evt_1', 'we_1', 1, now());
INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment, salt, details) VALUES
    (now(), 'aud_1', 'acct_1', false, 'req_finished', 'key_1', 'charges.create', 200, sha256('1'), 'salt', 'details'),
    ('2001-01-01', 'aud_unprepared_month', 'acct_1', false, 'req_finished', 'key_1', 'charges.create', 200, sha256('2'), 'salt', 'details');
INSERT INTO audit_blocks (no, from_xid, to_xid, rows, previous, digest) VALUES (1, 1, 2, 0, sha256('0'), sha256('1'));
INSERT INTO detached_months (kind, month, first_id, next_id, rows) VALUES ('events', '2001-01-01', '', 'evt_0', 0);

INSERT INTO refunds (account_id, id, livemode, request_id, charge_id, amount, currency, status, kind, failure_reason, acquirer_reference, balance_transaction,
    failure_balance_transaction, created_at)
VALUES ('acct_1', 're_back', false, 'req_refund_back', 'ch_1', 100, 'usd', 'failed', 'refund', 'unknown', 'rfnd_back', 'txn_back', 'txn_back_again', now());
INSERT INTO inbox (source, event_id, kind, digest, body, state, reason, due_at, account_id, request_id, applied_at) VALUES
    ('acquirer', 'note_applied', 'dispute.opened', sha256('1'), '1', 'applied', NULL, NULL, 'acct_1', 'req_finished', now()),
    ('acquirer', 'note_waiting', 'dispute.closed', sha256('2'), '2', 'waiting', 'no dispute', now(), NULL, NULL, NULL);
INSERT INTO inbox_contradictions (source, event_id, digest, body) VALUES ('acquirer', 'note_applied', sha256('x'), 'x');
INSERT INTO disputes (account_id, id, livemode, request_id, charge_id, acquirer_reference, amount, currency, case_type, reason, network_code, eligibility,
    status, respond_by, withdrawal, created_at) VALUES
    ('acct_1', 'du_1', false, 'req_dispute', 'ch_intent', 'dsp_1', 500, 'usd', 'chargeback', 'fraudulent', '10.4', '{}', 'needs_response', now(), 'txn_dispute', now()),
    ('acct_1', 'du_asks', false, 'req_inquiry', 'ch_intent', 'dsp_2', 500, 'usd', 'inquiry', 'fraudulent', '10.4', '{}', 'warning_needs_response', now(), NULL, now());
INSERT INTO settlement_parts (account_id, id, livemode, request_id, batch, part, parts, currency, movements, paid, taken, settled_at, created_at)
VALUES ('acct_1', 'stl_1', false, 'req_settled', 'batch_1', 1, 1, 'usd', 2, 1500, 0, now(), now());
INSERT INTO settlements (account_id, acquirer_reference, movement, livemode, request_id, charge_id, batch, part, amount, currency, posting_id, settled_at, created_at)
VALUES ('acct_1', 'auth_1', 'sale', false, 'req_settled', 'ch_intent', 'batch_1', 1, 1000, 'usd', 'txn_settled', now(), now());
INSERT INTO movements_waiting (account_id, acquirer_reference, movement, livemode, authorization_id, batch, part, amount, currency, settled_at, received_at, due_at)
VALUES ('acct_1', 'auth_unknown', 'sale', false, 'auth_unknown', 'batch_1', 1, 500, 'usd', now(), now(), now());
INSERT INTO movements_set_aside (account_id, acquirer_reference, movement, livemode, request_id, authorization_id, batch, part, amount, currency, reason, created_at)
VALUES ('acct_1', 'auth_1', 'sale', false, 'req_again', 'auth_1', 'batch_2', 1, 999, 'usd', 'it was settled before', now());
INSERT INTO charges_to_show (account_id, charge_id, livemode, created_at) VALUES ('acct_1', 'ch_intent', false, now());
INSERT INTO audit_detachments (month, block, rows) VALUES ('2019-12-01', 1, 5);
