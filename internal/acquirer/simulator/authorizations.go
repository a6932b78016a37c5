package simulator

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// An operation that was reversed, and its reversal, moved nothing together.
const selectExecuted = `
	SELECT a.id, a.merchant, a.livemode, a.card, a.currency,
	       m.at, m.key, m.kind, m.reference, m.amount, coalesce(o.asked->'order'->>'object', '') AS object,
	       coalesce(o.answer, '{}') AS result
	FROM acquirer.authorizations a
	JOIN acquirer.movements m ON m.authorization_id = a.id
	LEFT JOIN acquirer.operations o ON o.key = m.key AND o.reference = m.reference
	WHERE a.id IN (SELECT authorization_id FROM acquirer.movements WHERE at >= @from AND at < @to)
	  AND m.kind IN ('hold', 'sale', 'capture', 'release', 'refund') AND m.verb <> 'reverse'
	  AND NOT EXISTS (SELECT FROM acquirer.movements u WHERE u.reference = m.reference AND u.verb = 'reverse')
	ORDER BY a.id, m.number`

type executedRow struct {
	ID       string
	Merchant string
	Livemode bool
	Card     string
	Currency string
	acquirer.Executed
}

// getAuthorizations reports the authorizations of which anything moved in a time, each
// with all that ever moved it.
func (s *Simulator) getAuthorizations(w http.ResponseWriter, r *http.Request) {
	from, to, err := period(r)
	if err != nil {
		refuse(w, "", acquirer.ReasonInvalid, "from or to is not a time")
		return
	}
	rows, _ := s.pool.Query(r.Context(), selectExecuted, postgres.Args{"from": from, "to": to})
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[executedRow])
	if err != nil {
		s.log.Error("cannot list authorizations", "error", err)
		refuse(w, "", acquirer.ReasonUnavailable, "cannot list authorizations")
		return
	}
	var all []acquirer.Authorization
	for _, row := range found {
		if n := len(all); n == 0 || all[n-1].ID != row.ID {
			all = append(all, acquirer.Authorization{
				ID: row.ID, Merchant: row.Merchant, Livemode: row.Livemode, Card: row.Card, Currency: row.Currency})
		}
		last := &all[len(all)-1]
		last.Executed = append(last.Executed, row.Executed)
	}
	w.Header().Set("Content-Type", "application/jsonl")
	lines := json.NewEncoder(w)
	for _, a := range all {
		if lines.Encode(a) != nil {
			return // the reader has gone
		}
	}
}

func period(r *http.Request) (from, to time.Time, err error) {
	from, err = time.Parse(time.RFC3339Nano, r.FormValue("from"))
	if err != nil {
		return from, to, err
	}
	to, err = time.Parse(time.RFC3339Nano, r.FormValue("to"))
	return from, to, err
}

// The receiver may have lost what it acknowledged since a time, however old it is. The acknowledgment of a notice that
// is being sent now may count no more when it arrives, so that notice comes once more after it.
const resendNotices = `
	UPDATE acquirer.outbox
	SET acknowledged_at = NULL, attempts = 0, due_at = now(),
	    repeats = CASE WHEN acknowledged_at IS NULL THEN greatest(repeats, 1) ELSE repeats END
	WHERE at >= @from OR acknowledged_at >= @from OR acknowledged_at IS NULL AND attempts > 0`

// postResend has the announcer send once more what happened or was acknowledged since a time.
func (s *Simulator) postResend(w http.ResponseWriter, r *http.Request) {
	from, err := time.Parse(time.RFC3339Nano, r.URL.Query().Get("from"))
	if err != nil {
		refuse(w, "", acquirer.ReasonInvalid, "from is not a time")
		return
	}
	if _, err := s.pool.Exec(r.Context(), resendNotices, postgres.Args{"from": from}); err != nil {
		s.log.Error("cannot send notifications again", "error", err)
		refuse(w, "", acquirer.ReasonUnavailable, "cannot send notifications again")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
