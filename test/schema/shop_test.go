package schema_test

import "testing"

const (
	shopOrder = `
		INSERT INTO shop.orders (id, origin, amount, currency, session_id, session_url)
		VALUES ('order_1', 'http://s', 1800, 'usd', 'cs_1', 'http://p');`
	shopEvent = `
		INSERT INTO shop.events (id, type, order_id, did)
		VALUES ('evt_1', 'checkout.session.completed', 'order_1', 'paid');`
	shopPaid = shopOrder + shopEvent + `UPDATE shop.orders SET state = 'paid', paid_by = 'evt_1' WHERE id = 'order_1';`
)

func TestTheShopsPromises(t *testing.T) {
	t.Parallel()
	db := seeded(t)
	shop := db.PoolAs(t, "ratchet_shop")
	for _, p := range []promise{
		{"an order paid by no event", shopOrder, `UPDATE shop.orders SET state = 'paid'`, check,
			"orders_paid_have_an_event"},
		{"an order paid by an event about another", shopPaid + `INSERT INTO shop.orders (id, origin, amount, currency,
			session_id, session_url) VALUES ('order_2', 'o', 1, 'usd', 'cs_2', 'u');`,
			`
				UPDATE shop.orders SET state = 'paid', paid_by = 'evt_1'
				WHERE id = 'order_2'`, foreignKey, "orders_paid_by_their_own_event"},
		{"an order that is paid twice", shopPaid,
			`
				INSERT INTO shop.events (id, type, order_id, did)
				VALUES ('evt_2', 't', 'order_1', 'paid')`, unique, "events_order_is_paid_once"},
		{"an event that is written down twice", shopPaid,
			`
				INSERT INTO shop.events (id, type, order_id, did, reason)
				VALUES ('evt_1', 't', 'order_1', 'nothing', 'r')`, unique, "events_pkey"},
		{"an event that is processed twice", shopPaid + `INSERT INTO shop.deliveries (event_id, processed)
			VALUES ('evt_1', true);`,
			`
				INSERT INTO shop.deliveries (event_id, processed)
				VALUES ('evt_1', true)`, unique, "deliveries_event_is_processed_once"},
		{"an event about no order", "",
			`
				INSERT INTO shop.events (id, type, order_id, did)
				VALUES ('evt_1', 't', 'order_1', 'paid')`, foreignKey, "events_order_exists"},
		{"an event that did nothing, for no reason", shopOrder,
			`
				INSERT INTO shop.events (id, type, order_id, did)
				VALUES ('evt_1', 't', 'order_1', 'nothing')`, check, "events_without_effect_have_a_reason"},
		{"an order of nothing", "",
			`
				INSERT INTO shop.orders (id, origin, amount, currency)
				VALUES ('order_1', 'o', 0, 'usd')`, check, "orders_amount_is_positive"},
		{"an order that is paid on no page that there is", "",
			`
				INSERT INTO shop.orders (id, ui_mode, origin, amount, currency)
				VALUES ('order_1', 'mail', 'o', 1, 'usd')`, check, "orders_ui_mode_is_known"},
		{"two orders with one session", shopOrder,
			`
				INSERT INTO shop.orders (id, origin, amount, currency, session_id, session_url)
				VALUES ('order_2', 'o', 1, 'usd', 'cs_1', 'u')`, unique, "orders_session_id_key"},
		{"a second endpoint", `INSERT INTO shop.endpoint (key, url) VALUES ('k', 'u');`,
			`INSERT INTO shop.endpoint (one, key, url) VALUES (false, 'k', 'u')`, check, "endpoint_has_one_row"},
	} {
		t.Run(p.event, func(t *testing.T) { try(t, shop, p) })
	}
	for what, sql := range map[string]string{
		"change what an order costs":     `UPDATE shop.orders SET amount = 1`,
		"change where an order is paid":  `UPDATE shop.orders SET ui_mode = 'elements'`,
		"forget an event":                `DELETE FROM shop.events`,
		"change what an event did":       `UPDATE shop.events SET did = 'expired'`,
		"forget a delivery":              `DELETE FROM shop.deliveries`,
		"change what was ordered":        `UPDATE shop.lines SET quantity = 1`,
		"read a charge":                  `SELECT FROM charges`,
		"read the jobs":                  `SELECT FROM river.river_job`,
		"make an event of the API's own": `INSERT INTO events (id) VALUES ('evt_1')`,
	} {
		t.Run("the shop cannot "+what, func(t *testing.T) { try(t, shop, promise{refused: sql, state: privilege}) })
	}
	t.Run("the shop can sell", func(t *testing.T) { accept(t, shop, shopPaid) })
}

// Each side sees its own tables and none of the other's.
func TestTheShopAndTheAPIShareNoTable(t *testing.T) {
	t.Parallel()
	db := seeded(t)
	shared := column(t, db.Pool, `
		SELECT format('%s may %s %s.%s', role, privilege, n.nspname, r.relname)
		  FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace,
		       unnest(ARRAY['ratchet_api', 'ratchet_worker', 'ratchet_auditor', 'ratchet_shop']) role,
		       unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) privilege
		 WHERE r.relkind IN ('r', 'p', 'v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
		   AND (n.nspname = 'shop') <> (role = 'ratchet_shop') AND has_table_privilege(role, r.oid, privilege)`)
	if len(shared) > 0 {
		t.Error(shared)
	}
}
