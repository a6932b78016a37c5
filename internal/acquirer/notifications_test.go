package acquirer_test

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// The answer to a payment that is disputed carries the notifications that the acquirer
// will post.
func TestNews(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	client := acquirertest.Start(t, db.URL).Client()
	ask := func(t *testing.T, key string, asked acquirer.Request, fault string) (acquirer.Result, [][]byte) {
		t.Helper()
		ctx, news := acquirer.WithNotifications(acquirer.WithFault(t.Context(), fault))
		answer, err := client.Do(ctx, key, phase.Send, asked)
		if err != nil || !answer.Approved {
			t.Fatalf("answered %+v, %v", answer, err)
		}
		return answer, news.Bodies
	}
	posted := func(t *testing.T, authorization string) [][]byte {
		t.Helper()
		rows, _ := db.Pool.Query(t.Context(), `
			SELECT body FROM acquirer.outbox WHERE authorization_id = $1 ORDER BY number`, authorization)
		bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		if err != nil {
			t.Fatal(err)
		}
		return bodies
	}
	same := func(a, b [][]byte) bool { return bytes.Equal(bytes.Join(a, []byte("\n")), bytes.Join(b, []byte("\n"))) }
	sell := func(card string) acquirer.Request {
		order := acquirer.Order{Card: card, Amount: 2001, Currency: "usd", Capture: true}
		return acquirer.Request{Verb: acquirer.VerbAuthorize, Order: order}
	}

	for card, disputes := range map[string]int{"createDispute": 1, "createMultipleDisputes": 2, "visa": 0} {
		t.Run(card, func(t *testing.T) {
			t.Parallel()
			answer, news := ask(t, card, sell(card), "")
			if len(news) != disputes || !same(news, posted(t, answer.Reference)) {
				t.Errorf("the answer carries\n%s\nand the acquirer posts\n%s", news, posted(t, answer.Reference))
			}
			if _, again := ask(t, card, sell(card), ""); len(again) != 0 {
				t.Errorf("asked again, the answer carries %s", again)
			}
		})
	}

	t.Run("so does the answer to a capture", func(t *testing.T) {
		t.Parallel()
		hold := sell("createDispute")
		hold.Order.Capture = false
		held, early := ask(t, "hold", hold, "")
		take := acquirer.Order{Authorization: held.Reference, Amount: 500, Currency: "usd"}
		_, news := ask(t, "capture", acquirer.Request{Verb: acquirer.VerbCapture, Order: take}, "")
		if len(early) != 0 || len(news) != 1 || !same(news, posted(t, held.Reference)) {
			t.Errorf("the hold carries %s, the capture %s", early, news)
		}
	})

	t.Run("what happens later is only posted", func(t *testing.T) {
		t.Parallel()
		sold, _ := ask(t, "sold", sell("pendingRefund"), "")
		back := acquirer.Order{Authorization: sold.Reference, Amount: 500, Currency: "usd"}
		_, news := ask(t, "refund", acquirer.Request{Verb: acquirer.VerbRefund, Order: back}, "")
		if len(news) != 0 || len(posted(t, sold.Reference)) != 1 {
			t.Errorf("the refund carries %s, and %s is posted", news, posted(t, sold.Reference))
		}
	})

	t.Run("a fault makes the notifications late", func(t *testing.T) {
		t.Parallel()
		answer, news := ask(t, "late", sell("createDispute"), "late_notifications")
		if len(news) != 0 || len(posted(t, answer.Reference)) != 1 {
			t.Errorf("the answer carries %s, and %s is posted", news, posted(t, answer.Reference))
		}
	})
}
