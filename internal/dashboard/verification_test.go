package dashboard_test

import (
	"strings"
	"testing"
	"time"
)

func TestVerificationIsShown(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	requireWords(t, s.get(t, "/dashboard/processes"), "Not verified yet")

	_, err := s.db.Pool.Exec(t.Context(), `
		INSERT INTO verifications (scope, checked_from, checked_until, clean_until, rules, left_out, violations) VALUES
			('recent', now() - interval '9 minutes', now() - interval '1 minute', now() - interval '1 minute', 91, 0,
				0),
			('full', NULL, now() - interval '9 hours', NULL, 89, 2, 3)`)
	if err != nil {
		t.Fatal(err)
	}
	requireWords(t, s.get(t, "/dashboard/processes"), "Recent changes", "No violations", "1m ago", "91",
		"Everything", "3 violations", "9h ago", "never", "89")
	requireWords(t, s.get(t, "/dashboard"), "Needs attention", "3 violations")
	const figure = `<dt>Rules violated</dt><dd class="alarm">3</dd>`
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.get(t, "/").body, figure); {
		if time.Now().After(end) {
			t.Fatalf("the first page does not show %s", figure)
		}
		time.Sleep(100 * time.Millisecond) // its figures are kept for a moment
	}

	if _, err := s.db.Pool.Exec(t.Context(), "UPDATE verifications SET violations = 0"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.get(t, "/dashboard").body, "violation") {
		t.Error("the overview shows a violation of a clean run")
	}
}
