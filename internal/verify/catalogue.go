package verify

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// guards lists what makes up the second line of defense, one guard a line, as
// selectGuards reads it from a database that was just migrated. It is checked in
// so that a change of it is read like a change of code; after a migration,
// UPDATE_GUARDS=1 go test ./internal/verify writes it again.
//
//go:embed guards.txt
var guards string

// selectGuards reads the guards of a database. Partitions come and go with the
// months: selectSleepers compares them with the one for rows without a month. A view
// is compared without its line breaks, which versions of PostgreSQL set differently.
const selectGuards = `
	WITH ours AS (
		SELECT oid, relname, relpersistence, relrowsecurity, relowner, relacl FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
		  AND (NOT relispartition OR relname LIKE '%\_default') AND relname <> 'schema_revision'
	), views AS (
		SELECT oid, relname, relowner, relacl FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('v', 'm')
	), places AS (
		SELECT oid, relname, relowner, relacl FROM ours UNION ALL SELECT oid, relname, relowner, relacl FROM views
	), routines AS (
		SELECT *, oid::regprocedure::text AS signature FROM pg_proc WHERE pronamespace = 'public'::regnamespace
	), guards (kind, place, name, definition) AS (
		SELECT 'table', relname::text, '',
		       CASE relpersistence WHEN 'u' THEN 'unlogged' ELSE 'logged' END
		           || CASE WHEN relrowsecurity THEN ', rows hidden' ELSE '' END FROM ours
		UNION ALL
		SELECT 'column', t.relname, a.attname::text,
		       format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
		       || CASE a.attgenerated WHEN '' THEN '' ELSE ' generated as ' || pg_get_expr(d.adbin, d.adrelid) END
		FROM pg_attribute a JOIN ours t ON t.oid = a.attrelid
		LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attnum > 0 AND NOT a.attisdropped
		UNION ALL
		SELECT 'constraint', t.relname, c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint c
		JOIN ours t ON t.oid = c.conrelid WHERE c.contype IN ('c', 'f', 'p', 'u', 'x')
		UNION ALL
		SELECT 'index', t.relname, c.relname,
		       CASE WHEN i.indisvalid THEN '' ELSE 'invalid: ' END || pg_get_indexdef(i.indexrelid)
		FROM pg_index i JOIN ours t ON t.oid = i.indrelid JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indisunique
		UNION ALL
		SELECT 'view', v.relname, '', btrim(regexp_replace(pg_get_viewdef(v.oid), '\s+', ' ', 'g')) FROM views v
		UNION ALL
		SELECT 'trigger', t.relname, g.tgname,
		       CASE g.tgenabled WHEN 'A' THEN 'always' WHEN 'D' THEN 'disabled' ELSE 'sometimes' END || ': '
		           || pg_get_triggerdef(g.oid)
		FROM pg_trigger g JOIN places t ON t.oid = g.tgrelid WHERE NOT g.tgisinternal
		UNION ALL
		SELECT 'rule', t.relname, r.rulename, pg_get_ruledef(r.oid) FROM pg_rewrite r
		JOIN places t ON t.oid = r.ev_class WHERE r.rulename <> '_RETURN'
		UNION ALL
		SELECT 'function', signature, '',
		       l.lanname || CASE WHEN prosecdef THEN ', as its owner' ELSE '' END
		       || coalesce(', with ' || array_to_string(proconfig, ', '), '')
		       || ', sha256 ' || encode(sha256(convert_to(prosrc, 'UTF8')), 'hex')
		FROM routines JOIN pg_language l ON l.oid = prolang
		UNION ALL
		SELECT 'grant', t.relname,
		       g.privilege_type || ' to ' || CASE g.grantee WHEN 0 THEN 'public' ELSE g.grantee::regrole::text END, ''
		FROM places t CROSS JOIN aclexplode(t.relacl) g WHERE g.grantee <> t.relowner
		UNION ALL
		SELECT 'grant', t.relname,
		       g.privilege_type || ' (' || a.attname || ') to '
		       || CASE g.grantee WHEN 0 THEN 'public' ELSE g.grantee::regrole::text END, ''
		FROM places t JOIN pg_attribute a ON a.attrelid = t.oid CROSS JOIN aclexplode(a.attacl) g
		WHERE g.grantee <> t.relowner
		UNION ALL
		SELECT 'grant', p.signature,
		       g.privilege_type || ' to ' || CASE g.grantee WHEN 0 THEN 'public' ELSE g.grantee::regrole::text END, ''
		FROM routines p CROSS JOIN aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g
		WHERE g.grantee <> p.proowner
	)
	SELECT kind, place, name, definition FROM guards
	WHERE kind <> 'grant' OR name ~ '^(INSERT|UPDATE|DELETE|TRUNCATE|REFERENCES|TRIGGER|EXECUTE)'
	ORDER BY kind COLLATE "C", place COLLATE "C", name COLLATE "C"`

// selectSleepers finds guards that are there and yet do nothing: foreign keys
// put to sleep, partitions that are guarded less than their parent, settings of
// roles and databases that switch a guard or the durability of commits off, and
// roles and logins that no guard stops. A superuser who has none of our roles is the
// server's own and not listed.
const selectSleepers = `
	WITH RECURSIVE ours AS (
		SELECT oid FROM pg_roles WHERE rolname IN ('ratchet_api', 'ratchet_worker', 'ratchet_auditor')
		UNION
		SELECT m.member FROM pg_auth_members m JOIN ours ON ours.oid = m.roleid
	), months AS (
		SELECT month.oid, rest.oid AS like_oid
		FROM pg_inherits i JOIN pg_class month ON month.oid = i.inhrelid
		JOIN pg_class parent ON parent.oid = i.inhparent
		JOIN pg_class rest ON rest.relnamespace = parent.relnamespace AND rest.relname = parent.relname || '_default'
		WHERE parent.relnamespace = 'public'::regnamespace AND parent.relkind = 'p' AND month.oid <> rest.oid)
	SELECT coalesce(c.conname, g.tgname)::text AS object, 'does not watch ' || t.relname AS wrong
	FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid LEFT JOIN pg_constraint c ON c.oid = g.tgconstraint
	WHERE t.relnamespace = 'public'::regnamespace AND g.tgisinternal AND g.tgenabled <> 'O'
	UNION
	SELECT t.relname::text, 'this partition lacks ' || parents.tgname || ', or it does not fire always'
	FROM pg_trigger parents JOIN pg_inherits i ON i.inhparent = parents.tgrelid JOIN pg_class t ON t.oid = i.inhrelid
	WHERE NOT parents.tgisinternal AND t.relnamespace = 'public'::regnamespace
	  AND NOT EXISTS (SELECT FROM pg_trigger g
	      WHERE g.tgrelid = t.oid AND g.tgname = parents.tgname AND g.tgenabled = 'A')
	UNION
	SELECT month.relname::text, 'this partition lacks ' || g.tgname || ', or it does not fire always'
	FROM months JOIN pg_class month ON month.oid = months.oid
	JOIN pg_trigger g ON g.tgrelid = months.like_oid AND NOT g.tgisinternal
	WHERE NOT EXISTS (SELECT FROM pg_trigger has
	    WHERE has.tgrelid = months.oid AND has.tgname = g.tgname AND has.tgenabled = 'A' AND has.tgfoid = g.tgfoid
	      AND has.tgtype = g.tgtype)
	UNION
	SELECT month.relname::text, 'this partition lacks ' || c.conname
	FROM months JOIN pg_class month ON month.oid = months.oid JOIN pg_constraint c ON c.conrelid = months.like_oid
	WHERE c.contype IN ('c', 'f', 'p', 'u', 'x') AND NOT EXISTS (SELECT FROM pg_constraint has
	    WHERE has.conrelid = months.oid AND has.convalidated
	      AND regexp_replace(has.conname || ' ' || pg_get_constraintdef(has.oid), '_[0-9]{4}_[0-9]{2}', '_default', 'g')
	        = c.conname || ' ' || pg_get_constraintdef(c.oid))
	UNION
	SELECT t.relname::text, 'this partition lets '
	       || CASE g.grantee WHEN 0 THEN 'public' ELSE g.grantee::regrole::text END || ' ' || g.privilege_type
	FROM pg_class t CROSS JOIN aclexplode(t.relacl) g
	WHERE t.relispartition AND t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace AND g.grantee <> t.relowner
	  AND g.privilege_type <> 'SELECT'
	UNION
	SELECT t.relname::text, 'this partition is gone after a crash'
	FROM pg_class t WHERE t.relispartition AND t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace
	    AND t.relpersistence = 'u'
	UNION
	SELECT coalesce('role ' || r.rolname, 'every role')
	       || CASE s.setdatabase WHEN 0 THEN '' ELSE ' in this database' END, 'is set to ' || setting
	FROM pg_db_role_setting s LEFT JOIN pg_roles r ON r.oid = s.setrole CROSS JOIN unnest(s.setconfig) AS setting
	WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
	  AND setting ~ '^(session_replication_role=(?!origin$)|synchronous_commit=(off|local)$|search_path='
	             '|row_security=off|event_triggers=off|default_transaction_read_only=on'
	             '|default_transaction_isolation=(?!read committed$)|(session|local)_preload_libraries=(?!(""|)$)'
	             '|zero_damaged_pages=on|ignore_checksum_failure=on)'
	UNION
	SELECT DISTINCT 'role ' || r.rolname, 'may act as the owner of ' || t.relname
	FROM pg_roles r JOIN pg_class t ON t.relnamespace = 'public'::regnamespace AND t.relname = 'ledger_postings'
	WHERE r.rolname IN ('ratchet_api', 'ratchet_worker', 'ratchet_auditor') AND NOT r.rolsuper
	  AND pg_has_role(r.oid, t.relowner, 'MEMBER')
	UNION
	SELECT 'role ' || r.rolname,
	       concat_ws(' and ', CASE WHEN r.rolsuper THEN 'is a superuser' END,
	           CASE WHEN r.rolreplication THEN 'may copy the whole server' END,
	               CASE WHEN r.rolcreaterole THEN 'may make roles' END,
	                   CASE WHEN r.rolbypassrls THEN 'passes row-level security' END)
	FROM pg_roles r JOIN ours ON ours.oid = r.oid
	WHERE r.rolsuper OR r.rolreplication OR r.rolcreaterole OR r.rolbypassrls
	ORDER BY 1, 2`

// onlyPublic makes the catalog print names in the same way for every role.
const onlyPublic = `SELECT set_config('search_path', 'public', true)`

// guard is one of them.
type guard struct {
	Kind       string
	Place      string // the table or function it belongs to
	Name       string
	Definition string
}

// String is a line of guards.txt: kind, place, name and definition, separated by tabs.
func (g guard) String() string {
	return strings.Join([]string{g.Kind, g.Place, g.Name, g.Definition}, "\t")
}

// id identifies the guard without its definition.
func (g guard) id() guard { return guard{Kind: g.Kind, Place: g.Place, Name: g.Name} }

func (g guard) object() string {
	return strings.TrimSpace(g.Kind + " " + g.Place + " " + g.Name)
}

// secondLine proves that the constraints, triggers, functions and grants are
// still there and still say the same. A restore, a hurried fix or a replica that
// was promoted can lose them, and nothing else would notice until they are needed.
func secondLine(ctx context.Context, db reader) Check {
	c := Check{Rule: "the schema's guards are in place", Counted: "guards"}
	expected := expectedGuards()
	c.Count = int64(len(expected))
	found, err := readGuards(ctx, db)
	if err != nil {
		c.Unchecked = err.Error()
		return c
	}
	c.Violations = compareGuards(expected, found)
	sleepers, err := read[Violation](ctx, db, selectSleepers)
	if err != nil {
		c.Unchecked = err.Error()
	}
	c.Violations = append(c.Violations, sleepers...)
	return c
}

func readGuards(ctx context.Context, db reader) ([]guard, error) {
	if _, err := read[struct{ SetConfig string }](ctx, db, onlyPublic); err != nil {
		return nil, err
	}
	found, err := read[guard](ctx, db, selectGuards)
	for i := range found {
		if found[i].Kind == "view" {
			found[i].Definition = unqualified(found[i].Definition)
		}
	}
	return found, err
}

func expectedGuards() (expected []guard) {
	for line := range strings.Lines(guards) {
		field := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		expected = append(expected, guard{field[0], field[1], field[2], field[3]})
	}
	return expected
}

// compareGuards says what is missing, what has changed, and what has been added
// that could undo the rest: a trigger, a rule or a grant. A fork may add constraints,
// and tables with everything that belongs to them.
func compareGuards(expected, found []guard) (wrong []Violation) {
	there, places := map[guard]string{}, map[string]bool{}
	for _, g := range found {
		there[g.id()] = g.Definition
	}
	for _, g := range expected {
		places[g.Place] = true
		definition, ok := there[g.id()]
		delete(there, g.id())
		switch {
		case !ok:
			wrong = append(wrong, Violation{g.object(), "the schema has lost it"})
		case flat(definition) != flat(g.Definition):
			wrong = append(wrong,
				Violation{g.object(), fmt.Sprintf("is now %q, should be %q", definition, g.Definition)})
		}
	}
	added := slices.SortedFunc(maps.Keys(there), func(a, b guard) int {
		return strings.Compare(a.object(), b.object())
	})
	for _, g := range added {
		if places[g.Place] && slices.Contains([]string{"trigger", "rule", "grant"}, g.Kind) {
			wrong = append(wrong, Violation{g.object(), "is not of this schema"})
		}
	}
	return wrong
}

// withoutAccount are the tables whose keys may lack an account, because they hold no
// money. A message arrives before its account is known. A book's number belongs to one
// account and identifies it.
const withoutAccount = `'accounts', 'api_keys', 'flows', 'recovery_points', 'workers', 'ledger_books',
	'inbox', 'inbox_contradictions', 'inbox_acknowledgments', 'audit_events',
	'audit_blocks', 'audit_detachments', 'detached_months', 'users', 'user_sessions', 'root_secrets', 'kept_keys',
	'verifications', 'schema_revision'`

// constraintsCarryTheAccount: when the data is spread over several databases by
// account, a unique constraint without it would hold on each of them alone.
var constraintsCarryTheAccount = rule{
	since: inFull,
	name:  "every unique constraint on money contains its account or book", counted: "unique indexes",
	count: `
		SELECT count(*) FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
		WHERE i.indisunique AND t.relnamespace = 'public'::regnamespace AND t.relkind = 'r' AND NOT t.relispartition
		AND t.relname NOT IN (` + withoutAccount + `)`,
	sql: `
		SELECT c.relname::text, 'of ' || t.relname || ' does not contain account_id or book_id'
		FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indisunique AND t.relnamespace = 'public'::regnamespace AND t.relkind IN ('r', 'p')
		  AND NOT t.relispartition AND t.relname NOT IN (` + withoutAccount + `)
		  AND NOT EXISTS (SELECT FROM pg_attribute a
		      WHERE a.attrelid = t.oid AND a.attnum = ANY ((i.indkey::smallint[])[0:i.indnkeyatts - 1])
		        AND a.attname IN ('account_id', 'book_id'))`,
}
