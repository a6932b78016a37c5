package dashboard_test

import (
	"regexp"
	"strings"
	"testing"
)

func TestEmails(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	charge := s.charge(t, "amount", "2000", "receipt_email", "jenny@example.com", "description", "Two sledges")
	s.api(t, "/v1/refunds", "charge", charge, "amount", "500")
	s.api(t, "/v1/refunds", "charge", charge, "amount", "300")
	s.charge(t, "amount", "9900", "capture", "false")
	s.charge(t, "amount", "8800", "source", "tok_createDispute")
	s.sim.WaitUntilNotified(t, s.server.URL)
	list := s.get(t, "/dashboard/emails")
	open := func(t *testing.T, subject string, nth int) page {
		t.Helper()
		found := regexp.MustCompile(`href="(/dashboard/emails/evt_\w+)">`+regexp.QuoteMeta(subject)).
			FindAllStringSubmatch(list.body, -1)
		if len(found) <= nth {
			t.Fatalf("%d emails are called %s in %s", len(found), subject, list.body)
		}
		return s.get(t, found[nth][1])
	}

	t.Run("the page says that nothing is sent, and a hold has no receipt", func(t *testing.T) {
		requireWords(t, list, "Nothing is sent.", "jenny@example.com", "No address known", ">Last 30 days</a>")
		if strings.Contains(list.body, "All time") {
			t.Error("the page offers emails of a time that it leaves out")
		}
		if n := strings.Count(list.body, "Your receipt from Toboggans"); n != 2 {
			t.Errorf("there are %d receipts, want one for each captured charge", n)
		}
	})

	t.Run("a receipt has the amount, the card and a link to its page", func(t *testing.T) {
		p := open(t, "Your receipt from Toboggans", 1)
		requireWords(t, p, "Nothing is sent.", "You paid $20.00 to Toboggans", "Visa ending in 4242", "Two sledges",
			`href="/receipts/acct_1/`+charge+`/`)
		at := regexp.MustCompile(`/receipts/[^"]+`).FindString(p.body)
		requireWords(t, s.get(t, at), "Receipt from Toboggans", "$12.00")
	})

	t.Run("a refund names what this refund gave back", func(t *testing.T) {
		requireWords(t, open(t, "Your refund from Toboggans", 0), "refunded $3.00 to your card")
		requireWords(t, open(t, "Your refund from Toboggans", 1), "refunded $5.00 to your card")
	})

	t.Run("a dispute goes to the merchant", func(t *testing.T) {
		requireWords(t, open(t, "A customer disputed a payment of $88.00", 0), "The owner of Toboggans", "Respond by",
			`href="/dashboard/disputes/du_`)
	})

	t.Run("an event without an email has no page", func(t *testing.T) {
		var hold string
		err := s.db.Pool.QueryRow(t.Context(), `SELECT e.id FROM events e JOIN charges c ON c.id = e.object_id
			WHERE e.type = 'charge.succeeded' AND NOT c.captured`).Scan(&hold)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/dashboard/emails/" + hold, "/dashboard/emails/evt_none"} {
			if p := s.get(t, path); p.status != 404 {
				t.Errorf("%s was answered %d", path, p.status)
			}
		}
	})
}
