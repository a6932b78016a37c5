package simulator

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Movements of money, without those that were undone under their own reference.
const selectSettlement = `
	SELECT m.at, m.key, m.reference, coalesce(m.authorization_id, '') AS authorization, m.kind, m.amount, m.currency
	FROM acquirer.movements m
	WHERE m.kind IN ('sale', 'capture', 'refund', 'payout', 'recall') AND m.verb <> 'reverse' AND m.at >= @from
	  AND m.at < @to
	  AND NOT EXISTS (SELECT FROM acquirer.movements u WHERE u.reference = m.reference AND u.verb = 'reverse')
	ORDER BY m.number`

func (s *Simulator) getSettlement(w http.ResponseWriter, r *http.Request) {
	from, err := time.Parse(time.RFC3339Nano, r.FormValue("from"))
	if err != nil {
		refuse(w, "", acquirer.ReasonInvalid, "from is not a time")
		return
	}
	to, err := time.Parse(time.RFC3339Nano, r.FormValue("to"))
	if err != nil {
		refuse(w, "", acquirer.ReasonInvalid, "to is not a time")
		return
	}
	rows, _ := s.pool.Query(r.Context(), selectSettlement, postgres.Args{"from": from, "to": to})
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[acquirer.SettlementLine])
	if err != nil {
		s.log.Error("cannot create the settlement file", "error", err)
		refuse(w, "", acquirer.ReasonUnavailable, "cannot create the settlement file")
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	lines := json.NewEncoder(w)
	for _, line := range found {
		if lines.Encode(line) != nil {
			return // the reader has gone
		}
	}
}
