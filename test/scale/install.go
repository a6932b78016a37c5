package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/daysum"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/textindex"
	"github.com/ratchet-pay/ratchet/internal/verify"
	"github.com/ratchet-pay/ratchet/test/deployment"
)

// size is an installation to be measured.
type size struct{ charges, accounts int }

func (s size) String() string { return fmt.Sprintf("%d charges in %d accounts", s.charges, s.accounts) }

// span is how far the oldest charge lies back: half of the answers have expired.
const span = 60 * 24 * time.Hour

// installation is a deployment full of copies of one story.
type installation struct {
	*deployment.Deployment
	size
	story  *story
	theirs *pgxpool.Pool
}

// install makes an installation. Its processes do not run.
func install(ctx context.Context, of size) (i *installation, err error) {
	settings := []string{"shared_buffers=512MB", "max_wal_size=8GB", "synchronous_commit=off",
		"autovacuum=off"} // settleDown does it, and periods are closed once no transaction is under way
	if listStatements {
		settings = append(settings, "shared_preload_libraries=pg_stat_statements")
	}
	s, err := deployment.Start(ctx, deployment.Options{Settings: settings,
		Env: []string{"RATCHET_DASHBOARD=on"}})
	i = &installation{Deployment: s, size: of}
	defer func() {
		if err != nil {
			i.Stop()
		}
	}()
	if err != nil {
		return i, err
	}
	began := time.Now()
	if err := s.Run(ctx); err != nil {
		return i, err
	}
	if i.theirs, err = pgxpool.New(ctx, s.AcquirerURL); err != nil {
		return i, err
	}
	if i.story, err = live(ctx, s); err != nil {
		return i, fmt.Errorf("open an account: %w", err)
	}
	setUp, err := i.names(ctx, began)
	if err != nil {
		return i, err
	}
	if err := i.story.day(ctx); err != nil {
		return i, fmt.Errorf("live a day: %w", err)
	}
	s.Halt()
	i.story.end()
	if err := i.multiply(ctx, began, setUp); err != nil {
		return i, err
	}
	return i, i.settleDown(ctx)
}

func (i *installation) Stop() {
	if i.theirs != nil {
		i.theirs.Close()
	}
	i.Deployment.Stop()
}

// names are the ids that are in the tables now.
func (i *installation) names(ctx context.Context, began time.Time) (map[string]bool, error) {
	conn, err := pgx.Connect(ctx, i.URL)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	all, err := (&reader{conn: conn, oldest: began.Add(-time.Minute)}).read(ctx)
	found := map[string]bool{}
	for _, t := range all {
		for _, r := range t.rows {
			for _, field := range r.fields {
				for _, p := range field {
					if p.kind != name {
						continue
					}
					found[p.text] = true
					// Its bank account is named after it, and no table has it before the first payout.
					if suffix, is := strings.CutPrefix(p.text, "acct_"); is {
						found["ba_"+suffix] = true
					}
				}
			}
		}
	}
	return found, err
}

// multiply writes the copies, the oldest first, on both sides.
func (i *installation) multiply(ctx context.Context, began time.Time, setUp map[string]bool) error {
	if err := i.pastMonths(ctx); err != nil {
		return err
	}
	var places []place
	for n := i.charges/chargesInStory - 1; n > 0; n-- {
		earlier := span / time.Duration(i.charges/chargesInStory) * time.Duration(n)
		places = append(places, place{n: n, account: n % i.accounts, earlier: earlier.Truncate(time.Second),
			setUp: setUp})
	}
	for _, side := range []struct{ url, apart, together string }{
		{i.AcquirerURL, "", ""}, {i.URL, storyApart, storyTogether},
	} {
		conn, err := pgx.Connect(ctx, side.url)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		from := &reader{conn: conn, oldest: began.Add(-time.Minute), setUp: setUp}
		all, err := from.read(ctx)
		if err != nil {
			return err
		}
		if err := copyAll(ctx, conn, all, places, side.apart, side.together); err != nil {
			return err
		}
	}
	if _, err := i.Pool.Exec(ctx,
		`SELECT setval(pg_get_serial_sequence('ledger_books', 'id'), (SELECT max(id) FROM ledger_books))`); err != nil {
		return err
	}
	_, err := i.theirs.Exec(ctx,
		`SELECT setval(pg_get_serial_sequence('acquirer.movements', 'number'), (SELECT max(number)
			FROM acquirer.movements))`)
	return err
}

// pastMonths makes the partitions that would be there if the installation were as
// old as it looks.
func (i *installation) pastMonths(ctx context.Context) error {
	_, err := i.Pool.Exec(ctx, `
		DO $$
		DECLARE
		    month  date;
		    name   text;
		    parent record;
		BEGIN
		    FOR parent IN SELECT * FROM (VALUES ('events', 'evt'), ('webhook_deliveries', 'evt'),
		            ('webhook_attempts', 'evt'), ('archived_answers', 'req')) AS p (name, prefix) LOOP
		        name := parent.name || to_char(now() AT TIME ZONE 'UTC', '"_"YYYY_MM');
		        month := date_trunc('month', now() AT TIME ZONE 'UTC');
		        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent.name, name);
		        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent.name, name,
		            id_at(parent.prefix, month_start(month)),
		            id_at(parent.prefix, month_start((month + interval '1 month')::date)));
		    END LOOP;
		    FOR n IN 1..4 LOOP
		        month := date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => n);
		        PERFORM make_month('events', 'evt', month);
		        PERFORM make_month('webhook_deliveries', 'evt', month);
		        PERFORM make_month('webhook_attempts', 'evt', month);
		        PERFORM make_month('archived_answers', 'req', month);
		    END LOOP;
		    FOR n IN 1..4 LOOP
		        month := date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => n);
		        name := 'audit_events_' || to_char(month, 'YYYY_MM');
		        EXECUTE format('CREATE TABLE %I PARTITION OF audit_events FOR VALUES FROM (%L) TO (%L)', name,
		            month::timestamp AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
		        EXECUTE format('CREATE TRIGGER audit_events_are_not_emptied BEFORE TRUNCATE ON %I FOR EACH STATEMENT '
		            'EXECUTE FUNCTION reject_change(''the audit trail is append-only'')', name);
		        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER audit_events_are_not_emptied', name);
		    END LOOP;
		END $$`)
	if err != nil {
		return fmt.Errorf("make past months: %w", err)
	}
	return nil
}

// settleDown has the worker's own code do what it would have done meanwhile: seal
// the trail, close periods, archive answers. Then statistics are taken.
func (i *installation) settleDown(ctx context.Context) error {
	if err := i.maintain(ctx, "ANALYZE"); err != nil {
		return err
	}
	closer, counter, indexer := ledger.NewCloser(i.Pool), daysum.NewCounter(i.Pool), textindex.New(i.Pool)
	for what, do := range map[string]func() (int, error){
		"seal":          func() (int, error) { return audit.Sealer{Pool: i.Pool, Keys: i.AuditKeys()}.Seal(ctx) },
		"index texts":   func() (int, error) { return indexer.Index(ctx) },
		"count days":    func() (int, error) { return counter.Count(ctx) },
		"close periods": func() (int, error) { return closer.Close(ctx) },
		"reap":          func() (int, error) { return idempotency.Reap(ctx, i.Pool, 500) },
	} {
		for idle := 0; idle < 2; idle++ { // the first round of some only looks at the clock
			n, err := do()
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			if n > 0 {
				idle = 0
			}
		}
	}
	return i.maintain(ctx, "VACUUM ANALYZE")
}

// maintain runs a statement on both databases, without the limits of a pool's sessions.
func (i *installation) maintain(ctx context.Context, sql string) error {
	for _, url := range []string{i.URL, i.AcquirerURL} {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, sql)
		conn.Close(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// verify proves the books, as `ratchet verify` does.
func (i *installation) verify(ctx context.Context) error {
	report, err := verify.Run(ctx, verify.Config{Pool: i.Pool, Acquirer: simulator.Records{DB: i.theirs},
		AuditKeys: i.AuditKeys(), Connections: 2})
	if err != nil {
		return err
	}
	if report.ExitCode() != verify.OK {
		_ = report.Print(os.Stdout)
		return fmt.Errorf("verify: the installation is not consistent")
	}
	fmt.Printf("verify: everything holds, in %s; the slowest rules:\n", report.Took.Round(time.Millisecond))
	slowest := slices.SortedFunc(slices.Values(report.Checks),
		func(a, b verify.Check) int { return cmp.Compare(b.Took, a.Took) })
	for _, c := range slowest[:min(len(slowest), 10)] {
		fmt.Printf("  %8.0f ms  %s\n", ms(c.Took), c.Rule)
	}
	return nil
}
