package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ratchet-pay/ratchet/internal/secret"
)

const (
	verifyEvery = time.Minute
	// VerifyAgain is how far a run looks back behind the one before it: a transaction's rows have times from before its
	// commit, and the snapshot of that run may have missed them.
	VerifyAgain = 5 * time.Minute
	// verifyAtMost bounds an incremental run after a long stop, and while a violation is not repaired. The next
	// run over everything covers what is older.
	verifyAtMost = 6 * time.Hour
	// verifyHour is when everything is checked, in UTC.
	verifyHour = 3
)

// The scopes of a run, as in the table verifications.
const (
	verifyRecent = "recent"
	verifyFull   = "full"
)

// Verify checks what can have changed since a time; everything if it is zero. It returns nil while another worker's
// run is under way.
type Verify func(ctx context.Context, pool *pgxpool.Pool, auditKeys secret.Keys, since time.Time) (*Verified, error)

// Verified is what a run found.
type Verified struct {
	Since      *time.Time // nil: everything was checked
	Until      time.Time  // when its snapshot was taken
	Rules      int        // that were checked
	LeftOut    int
	Violations []Violation
	Unchecked  []Violation // why rules could not be checked
}

// Violation is a rule that does not hold for an object.
type Violation struct{ Rule, Object, Wrong string }

// verifier proves the books while the installation runs: every minute what can have changed, every night everything.
// It uses one connection without parallel workers, and rests as long as it works.
type verifier struct {
	pool      *pgxpool.Pool
	auditKeys secret.Keys
	verify    Verify
	log       *slog.Logger
	began     time.Time // before its first night there is no full run
	logged    map[Violation]bool

	violations, clean *prometheus.GaugeVec
}

func newVerifier(c Config) *verifier {
	v := &verifier{pool: c.Pool, auditKeys: c.AuditKeys, verify: c.Verify, log: c.Log, began: time.Now()}
	v.violations = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "ratchet_verify_violations",
		Help: "Violations that the last run of verify found: of what is new, every minute, and of everything, every " +
			"night. Anything but 0 is an error.",
	}, []string{"scope"})
	v.clean = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "ratchet_verify_last_clean_timestamp_seconds",
		Help: "When the last run of verify without a violation looked at the data.",
	}, []string{"scope"})
	c.Telemetry.Registry.MustRegister(v.violations, v.clean)
	return v
}

const readVerifications = `
	SELECT scope, checked_until, clean_until, violations FROM verifications`

const writeVerification = `
	INSERT INTO verifications AS v (scope, checked_from, checked_until, clean_until, rules, left_out, violations)
	VALUES (@scope, @checked_from, @checked_until, CASE WHEN @clean::boolean THEN @checked_until::timestamptz END,
		@rules, @left_out, @violations)
	ON CONFLICT (scope) DO UPDATE SET checked_from = EXCLUDED.checked_from, checked_until = EXCLUDED.checked_until,
		clean_until = coalesce(EXCLUDED.clean_until, v.clean_until), rules = EXCLUDED.rules,
		left_out = EXCLUDED.left_out, violations = EXCLUDED.violations
	WHERE EXCLUDED.checked_until > v.checked_until`

type verification struct {
	Scope        string
	CheckedUntil time.Time
	CleanUntil   *time.Time
	Violations   int
}

// verifications are the last runs, by scope.
type verifications map[string]verification

// cleanUntil is until when a run without a violation looked at the data; zero if none did.
func (all verifications) cleanUntil() (until time.Time) {
	for _, last := range all {
		if last.CleanUntil != nil && last.CleanUntil.After(until) {
			until = *last.CleanUntil
		}
	}
	return until
}

// gap says whether a run since a time would follow a partial one, so that requests before it were not checked.
func (all verifications) gap(since time.Time) bool {
	return !all[verifyRecent].CheckedUntil.IsZero() && since.After(all.cleanUntil())
}

// verify runs the verifier until ctx ends. A worker that has just started has more urgent work, so it waits first.
func (c Config) verify(ctx context.Context) {
	verifier := newVerifier(c)
	select {
	case <-ctx.Done():
	case <-time.After(verifyEvery):
		c.repeat(ctx, "verify", verifyEvery, verifier.round)
	}
}

// round checks what is due.
func (v *verifier) round(ctx context.Context) (int, error) {
	before, err := v.read(ctx)
	if err != nil {
		return 0, fmt.Errorf("read verifications: %w", err)
	}
	scope, since, due := v.next(before, time.Now())
	if !due {
		return 0, nil // another worker was here
	}
	report, err := v.verify(ctx, v.pool, v.auditKeys, since)
	if err != nil {
		return 0, fmt.Errorf("verify: %w", err)
	}
	if report == nil {
		return 0, nil
	}
	partial := report.Since != nil && report.Since.After(since)
	if partial {
		v.log.InfoContext(ctx, "verify checked the newest requests only", "since", *report.Since, "due_since", since)
	}
	v.report(ctx, scope, report)
	found, unchecked := len(report.Violations), len(report.Unchecked)
	if scope == verifyRecent && found == 0 && unchecked > 0 {
		return 0, fmt.Errorf("verify could not check %d rules: the next run looks at the same requests", unchecked)
	}
	clean := found == 0 && unchecked == 0 && !partial && !before.gap(since)
	_, err = v.pool.Exec(ctx, writeVerification, pgx.StrictNamedArgs{"scope": scope, "checked_from": report.Since,
		"checked_until": report.Until, "clean": clean,
		"rules": report.Rules, "left_out": report.LeftOut, "violations": found})
	if err != nil {
		return found, fmt.Errorf("record the verification: %w", err)
	}
	_, err = v.read(ctx)
	return found, err
}

// next says what to check now, and whether anything is due.
func (v *verifier) next(before verifications, now time.Time) (scope string, since time.Time, due bool) {
	night := now.UTC().Truncate(24 * time.Hour).Add(verifyHour * time.Hour)
	if night.After(now) {
		night = night.Add(-24 * time.Hour)
	}
	full, recent := before[verifyFull], before[verifyRecent]
	lastFull := full.CheckedUntil
	if lastFull.IsZero() {
		lastFull = v.began
	}
	if lastFull.Before(night) {
		return verifyFull, time.Time{}, true
	}
	if now.Sub(recent.CheckedUntil) < verifyEvery/2 {
		return "", time.Time{}, false
	}
	last := before.cleanUntil()
	if recent.Violations == 0 && recent.CheckedUntil.After(last) {
		last = recent.CheckedUntil // what a partial run left out waits for the night
	}
	since = now.Add(-verifyAtMost)
	if last.Add(-VerifyAgain).After(since) {
		since = last.Add(-VerifyAgain)
	}
	return verifyRecent, since, true
}

// read shows what the last runs found, whichever worker made them.
func (v *verifier) read(ctx context.Context) (verifications, error) {
	rows, err := v.pool.Query(ctx, readVerifications)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[verification])
	found := verifications{}
	for _, one := range all {
		found[one.Scope] = one
		v.violations.WithLabelValues(one.Scope).Set(float64(one.Violations))
		if one.CleanUntil != nil {
			v.clean.WithLabelValues(one.Scope).Set(float64(one.CleanUntil.Unix()))
		}
	}
	return found, err
}

// report logs each violation, once for as long as every run finds it.
func (v *verifier) report(ctx context.Context, scope string, report *Verified) {
	now := map[Violation]bool{}
	for _, wrong := range report.Violations {
		if !v.logged[wrong] {
			v.log.ErrorContext(ctx, "verify found a violation", "rule", wrong.Rule, "object", wrong.Object,
				"wrong", wrong.Wrong, "scope", scope)
		}
		now[wrong] = true
	}
	for _, one := range report.Unchecked {
		v.log.WarnContext(ctx, "verify could not check a rule", "rule", one.Rule, "why", one.Wrong, "scope", scope)
	}
	v.logged = now
}
