package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What the server answers when its disk is full, its memory used up, or it has
// become a standby. The trigger answers in its place.
func TestADatabaseThatTakesNothingMoreIsUnavailable(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	key := http.Header{"Idempotency-Key": {"full"}}
	for name, state := range map[string]string{"disk full": "53100", "out of memory": "53200", "read only": "25006"} {
		s.exec(t, fmt.Sprintf(`CREATE OR REPLACE FUNCTION takes_nothing() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '%s'; END $$`, state))
		s.exec(t, `
			CREATE TRIGGER takes_nothing BEFORE INSERT ON customers FOR EACH ROW EXECUTE FUNCTION takes_nothing()`)
		a := s.ask(t, sent{target: "/v1/customers", header: key})
		s.exec(t, `DROP TRIGGER takes_nothing ON customers`)
		requireRefusal(t, a, refused{status: http.StatusServiceUnavailable, want: fault{Type: "api_error"}})
		if a.header.Get("Stripe-Should-Retry") != "true" || !strings.Contains(a.fault.Message, "Nothing was done") {
			t.Errorf("%s: clients are not told to come back: %v %s", name, a.header, a.body)
		}
	}
	if a := s.ask(t, sent{target: "/v1/customers", header: key}); a.status != http.StatusOK {
		t.Errorf("the same key gets %d as soon as there is room", a.status)
	}
}
