-- 000035: prices have the index for searches (000034_search.up.sql), too.

ALTER TABLE search_blocks DROP CONSTRAINT search_blocks_kind_is_searched,
    ADD CONSTRAINT search_blocks_kind_is_searched
        CHECK (kind IN ('charges', 'customers', 'payment_intents', 'prices', 'products'));

CREATE OR REPLACE VIEW search_values AS
    SELECT c.account_id, 'charges' AS kind, c.id, v.field, v.value, v.field = '' AS is_text
      FROM charges c CROSS JOIN LATERAL (VALUES
          ('', c.description), ('amount', c.amount::text), ('currency', c.currency), ('customer', c.customer_id),
          ('billing_details.address.postal_code', CASE WHEN c.card -> 'billing' IS NULL THEN c.card ->> 'address_zip'
               ELSE c.card #>> '{billing,address,postal_code}' END),
          ('payment_method_details.card.brand', c.card ->> 'brand'),
          ('payment_method_details.card.fingerprint', c.card ->> 'fingerprint'),
          ('payment_method_details.card.last4', c.card ->> 'last4')) v (field, value)
    UNION ALL
    SELECT c.account_id, 'charges', c.id, 'metadata.' || m.key, m.value, true
      FROM charges c CROSS JOIN LATERAL json_each_text(c.metadata) m
    UNION ALL
    SELECT i.account_id, 'payment_intents', i.id, v.field, v.value, v.field = ''
      FROM payment_intents i CROSS JOIN LATERAL (VALUES
          ('', i.description), ('amount', i.amount::text), ('currency', i.currency),
          ('customer', i.customer_id)) v (field, value)
    UNION ALL
    SELECT i.account_id, 'payment_intents', i.id, 'metadata.' || m.key, m.value, true
      FROM payment_intents i CROSS JOIN LATERAL json_each_text(i.metadata) m
    UNION ALL
    SELECT c.account_id, 'customers', c.id, v.field, v.value, true
      FROM customers c CROSS JOIN LATERAL (VALUES
          ('name', c.name), ('email', c.email), ('phone', c.phone), ('', c.description)) v (field, value)
    UNION ALL
    SELECT c.account_id, 'customers', c.id, 'metadata.' || m.key, m.value, true
      FROM customers c CROSS JOIN LATERAL json_each_text(c.metadata) m
    UNION ALL
    SELECT p.account_id, 'products', p.id, v.field, v.value, true
      FROM products p CROSS JOIN LATERAL (VALUES
          ('name', p.name), ('description', p.description), ('url', p.url)) v (field, value)
    UNION ALL
    SELECT p.account_id, 'products', p.id, 'metadata.' || m.key, m.value, true
      FROM products p CROSS JOIN LATERAL json_each_text(p.metadata) m
    UNION ALL
    SELECT p.account_id, 'prices', p.id, v.field, v.value, false
      FROM prices p CROSS JOIN LATERAL (VALUES
          ('currency', p.currency), ('lookup_key', p.lookup_key), ('product', p.product_id)) v (field, value)
    UNION ALL
    SELECT p.account_id, 'prices', p.id, 'metadata.' || m.key, m.value, true
      FROM prices p CROSS JOIN LATERAL json_each_text(p.metadata) m;

CREATE OR REPLACE VIEW search_ids AS
    SELECT account_id, 'charges' AS kind, id FROM charges
    UNION ALL SELECT account_id, 'payment_intents', id FROM payment_intents
    UNION ALL SELECT account_id, 'customers', id FROM customers
    UNION ALL SELECT account_id, 'products', id FROM products
    UNION ALL SELECT account_id, 'prices', id FROM prices;

CREATE OR REPLACE FUNCTION search_index(of_account text, before timestamptz, at_most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    stale  record;
    part   record;
    begins text;
    ends   text;
    found  integer;
    more   boolean := false;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('search ' || of_account, 0));
    FOR stale IN
        WITH changed AS (
            DELETE FROM search_changes x WHERE x.account_id = of_account AND x.number <= (
                SELECT max(l.number) FROM (SELECT number FROM search_changes WHERE account_id = of_account
                                            ORDER BY number LIMIT at_most) l)
            RETURNING x.kind, x.id
        )
        SELECT DISTINCT b.* FROM changed x CROSS JOIN LATERAL (
            SELECT s.kind, s.after_id, s.last_id FROM search_blocks s
             WHERE s.account_id = of_account AND s.kind = x.kind AND s.last_id >= x.id
             ORDER BY s.last_id LIMIT 1) b
    LOOP
        DELETE FROM search_blocks
         WHERE account_id = of_account AND kind = stale.kind AND last_id = stale.last_id;
        PERFORM search_cut(of_account, stale.kind, stale.after_id, stale.last_id, true);
    END LOOP;
    FOR part IN SELECT * FROM (VALUES ('charges', id_at('ch', before)), ('payment_intents', id_at('pi', before)),
                    ('customers', id_at('cus', before)), ('prices', id_at('price', before)), ('products', '~'))
                    k (kind, before_id)
    LOOP
        SELECT coalesce(max(b.last_id), '') INTO begins FROM search_blocks b
         WHERE b.account_id = of_account AND b.kind = part.kind;
        SELECT max(i.id), count(*) INTO ends, found FROM (
            SELECT s.id FROM search_ids s
             WHERE s.account_id = of_account AND s.kind = part.kind AND s.id > begins AND s.id < part.before_id
             ORDER BY s.id LIMIT at_most) i;
        PERFORM search_cut(of_account, part.kind, begins, ends, false);
        more := more OR found = at_most;
    END LOOP;
    RETURN more;
END $$;

CREATE TRIGGER prices_are_searched AFTER UPDATE OF lookup_key, metadata ON prices FOR EACH ROW
    WHEN ((OLD.lookup_key, OLD.metadata::text) IS DISTINCT FROM (NEW.lookup_key, NEW.metadata::text))
    EXECUTE FUNCTION search_changed();
