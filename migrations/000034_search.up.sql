-- 000034: searches read the rows that may match, through an index that the worker builds.
--
-- A block represents 32 consecutive rows of an account and has the hashes of their texts: each three consecutive
-- characters of a text in lower case, and each whole value with its field. A search reads the blocks that have all
-- hashes of its values, and its condition then decides about their rows. Hashes that collide only cost a read. The
-- extension pg_trgm is not needed, because servers may lack it. A search reads rows without a block, too.
CREATE TABLE search_blocks (
    account_id text COLLATE "C" NOT NULL REFERENCES accounts,
    kind       text COLLATE "C" NOT NULL,
    after_id   text COLLATE "C" NOT NULL,
    last_id    text COLLATE "C" NOT NULL,
    terms      integer[] NOT NULL,
    PRIMARY KEY (account_id, kind, last_id),
    CONSTRAINT search_blocks_kind_is_searched
        CHECK (kind IN ('charges', 'customers', 'payment_intents', 'products')),
    CONSTRAINT search_blocks_have_rows CHECK (after_id < last_id)
);
CREATE INDEX search_blocks_by_term ON search_blocks USING gin (terms) WITH (gin_pending_list_limit = 1024);
COMMENT ON TABLE search_blocks IS
    'What the rows after one ID, up to another, contain, as hashes: which of them a search has to read.';

CREATE TABLE search_changes (
    account_id text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    number     bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (account_id, number)
);
COMMENT ON TABLE search_changes IS
    'Rows whose texts have changed. A search reads their blocks, until the worker has made them again.';

-- The values that a search finds through the index, with their fields. In a text, it also finds parts.
CREATE VIEW search_values AS
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
      FROM products p CROSS JOIN LATERAL json_each_text(p.metadata) m;

CREATE VIEW search_ids AS
    SELECT account_id, 'charges' AS kind, id FROM charges
    UNION ALL SELECT account_id, 'payment_intents', id FROM payment_intents
    UNION ALL SELECT account_id, 'customers', id FROM customers
    UNION ALL SELECT account_id, 'products', id FROM products;

-- The hashes have the account and the kind in them, so an index of all accounts narrows a search to one. Conditions of
-- searches compare in the database's collation, and columns with IDs have another one. PostgreSQL keeps this hash from
-- version to version, because partitions may depend on it.
CREATE FUNCTION search_hash(of_account text, of_kind text, what text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (hashtextextended(of_account || of_kind || what, 0) & 2147483647)::integer;

CREATE FUNCTION search_word(of_account text, of_kind text, field text, value text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN search_hash(of_account, of_kind, field || '=' || lower(value COLLATE "default"));

-- The terms of a search: of parts of texts, and of whole values with their fields.
CREATE FUNCTION search_terms(of_account text, of_kind text, parts text[], fields text[], words text[])
RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT term), '{}') FROM (
        SELECT search_hash(of_account, of_kind, substr(lower(p COLLATE "default"), at, 3)) AS term
          FROM unnest(parts) p
         CROSS JOIN LATERAL generate_series(1, length(lower(p COLLATE "default")) - 2) at
        UNION ALL
        SELECT search_word(of_account, of_kind, w.field, w.value) FROM unnest(fields, words) w (field, value)) t
$$;

-- The newest blocks with rows below an ID that have all terms, and all blocks whose rows have changed.
-- The terms of a block are long, so the index has to be asked even where the planner would rather read them all.
CREATE FUNCTION search_found(of_account text, of_kind text, before text, looked_for integer[], at_most bigint)
RETURNS TABLE (after_id text, last_id text) LANGUAGE sql STABLE SET enable_seqscan = off AS $$
    (WITH found AS MATERIALIZED (
         SELECT b.account_id, b.kind, b.after_id, b.last_id FROM search_blocks b WHERE b.terms @> looked_for
     )
     SELECT f.after_id, f.last_id FROM found f
      WHERE f.account_id = of_account AND f.kind = of_kind AND f.after_id < before
      ORDER BY f.last_id DESC LIMIT at_most)
    UNION
    (SELECT b.after_id, b.last_id
       FROM search_changes x
      CROSS JOIN LATERAL (
          SELECT s.after_id, s.last_id FROM search_blocks s
           WHERE s.account_id = of_account AND s.kind = of_kind AND s.last_id >= x.id ORDER BY s.last_id LIMIT 1) b
      WHERE x.account_id = of_account AND x.kind = of_kind AND b.after_id < before
      ORDER BY b.last_id DESC LIMIT at_most)
    ORDER BY last_id DESC LIMIT at_most
$$;

-- Builds the blocks of the rows after an ID, up to another. A remainder of fewer rows than a block gets none, unless
-- the caller asks for it.
CREATE FUNCTION search_cut(of_account text, of_kind text, after text, until text, cut_all boolean) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    per_block CONSTANT integer := 32;
BEGIN
    INSERT INTO search_blocks (account_id, kind, after_id, last_id, terms)
    SELECT of_account, of_kind, b.after_id, b.last_id, (
               SELECT coalesce(array_agg(DISTINCT t.term), '{}')
                 FROM (SELECT v.field, lower(v.value COLLATE "default") AS value, v.is_text FROM search_values v
                        WHERE v.account_id = of_account AND v.kind = of_kind AND v.id > b.after_id
                          AND v.id <= b.last_id AND v.value IS NOT NULL
                       OFFSET 0) v -- each value is made lower once
                CROSS JOIN LATERAL (
                    SELECT search_hash(of_account, of_kind, v.field || '=' || v.value) AS term
                    UNION ALL
                    SELECT search_hash(of_account, of_kind, substr(v.value, at, 3))
                      FROM generate_series(1, CASE WHEN v.is_text THEN length(v.value) - 2 ELSE 0 END) at) t)
      FROM (SELECT lag(c.last_id, 1, after) OVER (ORDER BY c.number) AS after_id,
                   CASE WHEN cut_all AND c.number = max(c.number) OVER () THEN until ELSE c.last_id END AS last_id
              FROM (SELECT n.number, max(n.id) AS last_id
                      FROM (SELECT i.id, (row_number() OVER (ORDER BY i.id) - 1) / per_block AS number
                              FROM search_ids i
                             WHERE i.account_id = of_account AND i.kind = of_kind AND i.id > after AND i.id <= until) n
                     GROUP BY n.number HAVING cut_all OR count(*) = per_block) c) b;
END $$;

-- The caller knows that no row with a lower ID than one of that time can still commit. Products are the exception:
-- merchants choose their IDs, so each new one counts as changed. A change is in this table if its row's new version is,
-- because one transaction writes both: what has not committed when a block is made is made again later. A call makes a
-- limited number of blocks and returns whether there may be more. Two calls for an account wait for each other.
CREATE FUNCTION search_index(of_account text, before timestamptz, at_most integer) RETURNS boolean
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
                    ('customers', id_at('cus', before)), ('products', '~')) k (kind, before_id)
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

CREATE FUNCTION search_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO search_changes (account_id, kind, id) VALUES (NEW.account_id, TG_TABLE_NAME, NEW.id);
    RETURN NULL;
END $$;

CREATE TRIGGER charges_are_searched AFTER UPDATE OF customer_id, description, metadata, card ON charges FOR EACH ROW
    WHEN ((OLD.customer_id, OLD.description, OLD.metadata::text, OLD.card::text)
          IS DISTINCT FROM (NEW.customer_id, NEW.description, NEW.metadata::text, NEW.card::text))
    EXECUTE FUNCTION search_changed();
CREATE TRIGGER payment_intents_are_searched
    AFTER UPDATE OF amount, currency, customer_id, description, metadata ON payment_intents FOR EACH ROW
    WHEN ((OLD.amount, OLD.currency, OLD.customer_id, OLD.description, OLD.metadata::text)
          IS DISTINCT FROM (NEW.amount, NEW.currency, NEW.customer_id, NEW.description, NEW.metadata::text))
    EXECUTE FUNCTION search_changed();
CREATE TRIGGER customers_are_searched
    AFTER UPDATE OF name, email, phone, description, metadata ON customers FOR EACH ROW
    WHEN ((OLD.name, OLD.email, OLD.phone, OLD.description, OLD.metadata::text)
          IS DISTINCT FROM (NEW.name, NEW.email, NEW.phone, NEW.description, NEW.metadata::text))
    EXECUTE FUNCTION search_changed();
CREATE TRIGGER products_are_searched AFTER INSERT OR UPDATE OF name, description, url, metadata ON products
    FOR EACH ROW EXECUTE FUNCTION search_changed();

GRANT SELECT ON search_blocks, search_changes, search_values, search_ids
    TO ratchet_api, ratchet_worker, ratchet_auditor;
REVOKE EXECUTE ON FUNCTION search_cut(text, text, text, text, boolean), search_index(text, timestamptz, integer)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_index(text, timestamptz, integer) TO ratchet_worker;
