package recent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/recent"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func request(account string, n int, rejected bool) recent.Request {
	r := recent.Request{AccountID: account, ID: fmt.Sprintf("req_%06d", n), At: time.Now()}
	if rejected {
		r.Error = apierror.Invalid("amount", "Invalid integer: twenty")
	}
	return r
}

func TestLog(t *testing.T) {
	t.Parallel()

	t.Run("a client that polls pushes no rejection out", func(t *testing.T) {
		t.Parallel()
		l := recent.NewLog()
		l.Add(request("acct_1", 0, true))
		for n := 1; n <= 3*recent.Most; n++ {
			l.Add(request("acct_1", n, false))
		}
		if all := l.Of("acct_1", false, true); len(all) != recent.Most+1 || all[recent.Most].ID != "req_000000" {
			t.Errorf("%d requests are kept, want the rejection and the latest %d reads", len(all), recent.Most)
		}
		if all := l.Of("acct_1", false, false); len(all) != 1 || !all[0].Rejected() {
			t.Errorf("without reads, the log has %d requests", len(all))
		}
	})

	t.Run("card numbers are hidden, in the digits of any script", func(t *testing.T) {
		t.Parallel()
		visa, _ := testcard.ByName("visa")
		pan := visa.Number()
		arabic := strings.Map(func(digit rune) rune { return digit - '0' + '٠' }, pan)
		for _, text := range []string{pan, "x" + pan, arabic, "/v1/charges/" + pan} {
			r := request("acct_1", 1, true)
			r.Path, r.Params = recent.Whole(text), []form.Param{{Name: "description", Value: text}, {Name: text}}
			if text == "x"+pan { // what touches a letter is an ID to the card test, and is quoted before it is kept
				r.Params = nil
			}
			l := recent.NewLog()
			l.Add(r)
			if kept := fmt.Sprint(*l.Find("acct_1", false, r.ID)); strings.Contains(kept, pan) ||
				strings.Contains(kept, arabic) {
				t.Errorf("%q is kept", text)
			}
		}
		if path := "/v1/payment_intents/pi_0Vc6uNrddvcYlwDDpDMgo3Lw/confirm"; recent.Whole(path) != path {
			t.Errorf("a path is kept as %s", recent.Whole(path))
		}
	})

	t.Run("an account and a mode have their own", func(t *testing.T) {
		t.Parallel()
		l := recent.NewLog()
		l.Add(request("acct_1", 1, true))
		for _, c := range []struct {
			account  string
			livemode bool
			found    bool
		}{{"acct_1", false, true}, {"acct_1", true, false}, {"acct_2", false, false}} {
			if found := l.Find(c.account, c.livemode, "req_000001") != nil; found != c.found {
				t.Errorf("account %s, live %t: found %t, want %t", c.account, c.livemode, found, c.found)
			}
		}
	})

	t.Run("many accounts take no more memory than the bound, and the idle ones go first", func(t *testing.T) {
		t.Parallel()
		l := recent.NewLog()
		for n := range 600 {
			l.Add(request(fmt.Sprintf("acct_%d", n), n, true))
		}
		kept := 0
		for n := range 600 {
			kept += len(l.Of(fmt.Sprintf("acct_%d", n), false, true))
		}
		first, last := l.Find("acct_0", false, "req_000000"), l.Find("acct_599", false, "req_000599")
		if kept != 500 || first != nil || last == nil {
			t.Errorf("requests of %d accounts are kept, want those of the latest 500", kept)
		}
	})

	t.Run("after an hour a request is gone", func(t *testing.T) {
		t.Parallel()
		l := recent.NewLog()
		old := request("acct_1", 1, true)
		old.At = time.Now().Add(-recent.KeepFor - time.Second)
		l.Add(old)
		if all := l.Of("acct_1", false, true); len(all) != 0 {
			t.Errorf("%d requests of an hour ago are shown", len(all))
		}
		if l.Rejections() != 1 {
			t.Errorf("%d rejections were counted", l.Rejections())
		}
	})
}
