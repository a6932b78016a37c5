package payout

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// The acquirer settles in batches and reports each in parts. A part is one request
// and one posting, however many movements it lists. Every movement ends in one
// table:
//
//	                      ┌─▶ settlements          its charge is here: booked
//	batch.settled, part n ┼─▶ movements_waiting    its charge is not here yet
//	                      └─▶ movements_set_aside  it contradicts what is known
//
// A worker books a waiting movement when its charge is here (settlement_late.go),
// and shows the balance transactions of charges that hid them until they were paid
// (settlement_show.go).

// settledMovements are movements of one part, and what they have in common.
type settledMovements struct {
	Batch     string
	Part      int
	Currency  string
	At        time.Time
	Movements []acquirer.SettledMovement
}

// settledPart is what the flow of a part works with. The list of movements stays in
// the message, which the inbox keeps: the request's row has no copy of it.
type settledPart struct {
	Message inbox.Message
	Batch   string
	Part    int
	Report  acquirer.SettledPart `json:"-"`
}

// SettlementObject is what a request answers that books movements; no address of
// the API shows it.
type SettlementObject struct {
	ID       string `json:"id"`
	Object   string `json:"object"`
	Booked   int    `json:"booked"`
	Waiting  int    `json:"waiting"`
	SetAside int    `json:"set_aside"`
}

// SettlePart books one part of a settlement batch.
var SettlePart = phase.Define("acquirer."+acquirer.BatchSettled, 1,
	phase.Atomic("part_settled", func(
		ctx context.Context, tx *phase.Tx, in settledPart, _ *struct{},
	) (phase.Outcome, error) {
		part := in.Report
		inbox.Take(tx, in.Message)
		settled, err := bookMovements(ctx, tx,
			settledMovements{part.Batch, part.Part, part.Currency, part.At, part.Movements})
		if err != nil {
			return phase.Outcome{}, fmt.Errorf("book part %d of %s: %w", part.Part, part.Batch, err)
		}
		tx.Write(insertSettlementPart, pgx.StrictNamedArgs{
			"account_id": tx.AccountID,
			"id":         settled.ID,
			"livemode":   tx.Livemode,
			"request_id": tx.RequestID,
			"batch":      part.Batch,
			"part":       part.Part,
			"parts":      part.Parts,
			"currency":   part.Currency,
			"movements":  part.Count,
			"paid":       part.Paid,
			"taken":      part.Taken,
			"settled_at": part.At,
			"created_at": tx.Now(),
		})
		return phase.OK(settled.ID, settled), nil
	}))

const insertSettlementPart = `
	INSERT INTO settlement_parts (account_id, id, livemode, request_id, batch, part, parts, currency, movements, paid,
		taken, settled_at, created_at)
	VALUES (@account_id, @id, @livemode, @request_id, @batch, @part, @parts, @currency, @movements, @paid, @taken,
		@settled_at, @created_at)`

// One statement, so that one snapshot decides which charges are here. Rows are
// inserted in the order of their key: two requests that settle the same movements
// wait for each other and do not deadlock. The LIMIT makes the planner look each charge up
// by its index; a plain join may read all charges of the account. Inserted rows are
// looked up with IN, which hashes it: the planner does not know how many rows reported has,
// and a join would compare each with each.
const insertMovements = `
	WITH reported AS (
		SELECT * FROM unnest(@kinds::text[], @authorizations::text[], @references::text[], @amounts::bigint[])
			AS t (kind, authorization_id, reference, amount)
	), judged AS (
		SELECT t.*, c.id AS charge_id, c.settlement_pending, CASE
		       WHEN t.kind <> ALL (@paid::text[])
		           AND t.kind <> ALL (@taken::text[]) THEN 'nothing is known of settling a ' || t.kind
		       WHEN t.amount <= 0 THEN 'it is of nothing'
		       WHEN (c.currency, c.livemode) IS DISTINCT FROM (@currency, @livemode) AND c.id IS NOT NULL
		       THEN 'charge ' || c.id || ' is in ' || c.currency || CASE WHEN c.livemode THEN ', live' ELSE ', test' END
		       || ' mode'
		       END AS wrong
		FROM reported t LEFT JOIN LATERAL (SELECT id, currency, livemode, settlement_pending FROM charges
			WHERE account_id = @account_id AND acquirer_reference = t.authorization_id LIMIT 1) c ON true
	), booked AS (
		INSERT INTO settlements (account_id, acquirer_reference, movement, livemode, request_id, charge_id, batch, part,
			amount, currency, posting_id, settled_at, created_at)
		SELECT @account_id, reference, kind, @livemode, @request_id, charge_id, @batch, @part, amount, @currency,
		       @posting_id, @settled_at, @now
		FROM judged WHERE wrong IS NULL AND charge_id IS NOT NULL ORDER BY reference COLLATE "C", kind
		ON CONFLICT ON CONSTRAINT settlements_one_per_movement DO NOTHING
		RETURNING acquirer_reference AS reference, movement AS kind
	), kept AS (
		INSERT INTO movements_waiting (account_id, acquirer_reference, movement, livemode, authorization_id, batch,
			part, amount, currency, settled_at, received_at, due_at)
		SELECT @account_id, reference, kind, @livemode, authorization_id, @batch, @part, amount, @currency, @settled_at,
		       @now, @now
		FROM judged WHERE wrong IS NULL AND charge_id IS NULL ORDER BY reference COLLATE "C", kind
		ON CONFLICT ON CONSTRAINT movements_waiting_one_per_movement DO NOTHING
		RETURNING acquirer_reference AS reference, movement AS kind
	), shown AS (
		INSERT INTO charges_to_show (account_id, charge_id, livemode, created_at)
		SELECT @account_id, charge_id, @livemode, @now
		FROM judged WHERE settlement_pending AND kind = 'sale'
		    AND ((reference, kind) IN (SELECT reference, kind FROM booked)) IS TRUE ORDER BY charge_id
		ON CONFLICT ON CONSTRAINT charges_to_show_one_per_charge DO NOTHING
	)
	SELECT kind, authorization_id AS authorization, reference, amount, coalesce(wrong, '') AS wrong,
	       (reference, kind) IN (SELECT reference, kind FROM booked) AS booked,
	       (reference, kind) IN (SELECT reference, kind FROM kept) AS waits
	FROM judged`

// judgment is what becomes of a movement. Where it is neither booked, nor waits,
// nor is wrong, it was here before.
type judgment struct {
	acquirer.SettledMovement
	Wrong  string
	Booked bool
	Waits  bool
}

// Rows that existed before are compared in a separate statement: one may have been
// committed after insertMovements began.
const compareMovements = `
	SELECT t.kind, t.reference, CASE
	       WHEN (s.amount, s.currency, s.livemode, c.acquirer_reference)
	       IS DISTINCT FROM (t.amount, @currency, @livemode, t.authorization_id) AND s.amount IS NOT NULL
	       THEN 'it was settled before in ' || s.batch || ', as ' || s.amount || ' ' || s.currency || ' of '
	       || c.acquirer_reference
	       WHEN (w.amount, w.currency, w.livemode, w.authorization_id)
	       IS DISTINCT FROM (t.amount, @currency, @livemode, t.authorization_id) AND s.amount IS NULL
	           AND w.amount IS NOT NULL
	       THEN 'it waits since ' || w.batch || ', as ' || w.amount || ' ' || w.currency || ' of ' || w.authorization_id
	       ELSE '' END AS wrong, s.amount IS NULL AND w.amount IS NOT NULL AS waits
	FROM unnest(@kinds::text[], @authorizations::text[], @references::text[], @amounts::bigint[])
		AS t (kind, authorization_id, reference, amount)
	LEFT JOIN LATERAL (SELECT * FROM settlements WHERE account_id = @account_id
		AND acquirer_reference = t.reference AND movement = t.kind LIMIT 1) s ON true
	LEFT JOIN LATERAL (SELECT * FROM charges WHERE account_id = s.account_id AND id = s.charge_id LIMIT 1) c ON true
	LEFT JOIN LATERAL (SELECT * FROM movements_waiting WHERE account_id = @account_id
		AND acquirer_reference = t.reference AND movement = t.kind LIMIT 1) w ON true`

// comparison says how a movement differs from what was here before.
type comparison struct {
	Kind, Reference, Wrong string
	Waits                  bool
}

// bookMovements books the movements whose charges are here, with one posting for
// all of them. It keeps those whose charges are not, and sets aside those that
// contradict what is known. A movement that was booked before is not booked again.
func bookMovements(ctx context.Context, tx *phase.Tx, of settledMovements) (SettlementObject, error) {
	made := SettlementObject{ID: tx.NewID("stl"), Object: "settlement"}
	posting := tx.NewID("txn")
	judged, err := judge(ctx, tx, of, posting)
	if err != nil {
		return made, err
	}
	var booked, aside []acquirer.SettledMovement
	var reasons []string
	for _, j := range judged {
		switch {
		case j.Wrong != "":
			aside, reasons = append(aside, j.SettledMovement), append(reasons, j.Wrong)
		case j.Booked:
			booked = append(booked, j.SettledMovement)
		case j.Waits:
			made.Waiting++
		}
	}
	made.Booked, made.SetAside = len(booked), len(aside)
	if len(booked) > 0 {
		paid, taken := acquirer.Sums(booked)
		ledger.Post(tx, ledger.Settlement(posting, made.ID, of.Currency, paid, taken, tx.Now()))
	}
	if len(aside) > 0 {
		setAside(tx, of, made.ID, aside, reasons)
	}
	return made, nil
}

// judge inserts what can be inserted, and says what became of each movement.
func judge(ctx context.Context, tx *phase.Tx, of settledMovements, posting string) ([]judgment, error) {
	args := movementArgs(of.Movements)
	for name, value := range map[string]any{
		"account_id": tx.AccountID,
		"livemode":   tx.Livemode,
		"request_id": tx.RequestID,
		"batch":      of.Batch,
		"part":       of.Part,
		"currency":   of.Currency,
		"posting_id": posting,
		"settled_at": of.At,
		"now":        tx.Now(),
		"paid":       acquirer.PaidKinds,
		"taken":      acquirer.TakenKinds,
	} {
		args[name] = value
	}
	rows, err := tx.Query(ctx, insertMovements, args)
	if err != nil {
		return nil, fmt.Errorf("insert settlements: %w", err)
	}
	judged, err := pgx.CollectRows(rows, pgx.RowToStructByName[judgment])
	if err != nil {
		return nil, fmt.Errorf("insert settlements: %w", err)
	}
	var known []acquirer.SettledMovement
	for _, j := range judged {
		if j.Wrong == "" && !j.Booked && !j.Waits {
			known = append(known, j.SettledMovement)
		}
	}
	if len(known) == 0 {
		return judged, nil
	}
	return judged, compare(ctx, tx, of, known, judged)
}

// compare completes the judgment of movements that were here before.
func compare(
	ctx context.Context, tx *phase.Tx, of settledMovements, known []acquirer.SettledMovement, judged []judgment,
) error {
	args := movementArgs(known)
	args["account_id"], args["livemode"], args["currency"] = tx.AccountID, tx.Livemode, of.Currency
	rows, err := tx.Query(ctx, compareMovements, args)
	if err != nil {
		return fmt.Errorf("compare known movements: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[comparison])
	if err != nil {
		return fmt.Errorf("compare known movements: %w", err)
	}
	type name struct{ kind, reference string }
	before := make(map[name]comparison, len(found))
	for _, f := range found {
		before[name{f.Kind, f.Reference}] = f
	}
	for n, j := range judged {
		if was, compared := before[name{j.Kind, j.Reference}]; compared {
			judged[n].Wrong, judged[n].Waits = was.Wrong, was.Waits
		}
	}
	return nil
}

func movementArgs(movements []acquirer.SettledMovement) pgx.StrictNamedArgs {
	n := len(movements)
	kinds := make([]string, n)
	authorizations := make([]string, n)
	references := make([]string, n)
	amounts := make([]int64, n)
	for i, m := range movements {
		kinds[i], authorizations[i], references[i], amounts[i] = m.Kind, m.Authorization, m.Reference, m.Amount
	}
	return pgx.StrictNamedArgs{
		"kinds":          kinds,
		"authorizations": authorizations,
		"references":     references,
		"amounts":        amounts,
	}
}

const insertSetAside = `
	INSERT INTO movements_set_aside (account_id, acquirer_reference, movement, livemode, request_id, authorization_id,
		batch, part, amount, currency, reason, created_at)
	SELECT @account_id, reference, kind, @livemode, @request_id, authorization_id, @batch, @part, amount, @currency,
	       reason, @now
	FROM unnest(@kinds::text[], @authorizations::text[], @references::text[], @amounts::bigint[], @reasons::text[])
		AS t (kind, authorization_id, reference, amount, reason)`

// setAside keeps movements that nothing is booked for, with an alarm in the audit trail.
func setAside(
	tx *phase.Tx, of settledMovements, settlement string, movements []acquirer.SettledMovement, reasons []string,
) {
	args := movementArgs(movements)
	for name, value := range map[string]any{
		"account_id": tx.AccountID,
		"livemode":   tx.Livemode,
		"request_id": tx.RequestID,
		"batch":      of.Batch,
		"part":       of.Part,
		"currency":   of.Currency,
		"reasons":    reasons,
		"now":        tx.Now(),
	} {
		args[name] = value
	}
	tx.Write(insertSetAside, args)
	audit.RaiseAlarm(tx, "settlement.set_aside", settlement, map[string]any{
		"batch": of.Batch, "part": of.Part, "movements": movements, "reasons": reasons})
}

const merchantNamed = `
	SELECT a.id AS account_id,
	       @livemode::boolean AS livemode, ` + resource.MerchantColumns + `, account_ahead(a.id, @livemode) AS ahead
	FROM accounts a WHERE a.id = @account_id`

// ApplyPart has a message applied that reports a part of a batch.
func ApplyPart(ctx context.Context, e *phase.Engine, m inbox.Message) error {
	var part acquirer.SettledPart
	if err := json.Unmarshal(m.Body, &part); err != nil {
		return inbox.Refused("unreadable: %v", err)
	}
	if err := part.Check(); err != nil {
		return inbox.Refused("%v", err)
	}
	found, err := resource.QueryOne[resource.Task](ctx, e.Pool(), merchantNamed,
		pgx.StrictNamedArgs{"account_id": part.Merchant, "livemode": part.Livemode})
	if err != nil {
		return err
	}
	if found == nil {
		return inbox.NotYet("account %s not found", part.Merchant)
	}
	answer, err := SettlePart.Serve(ctx, e, phase.Request{
		Caller: phase.Caller{AccountID: found.AccountID, Livemode: found.Livemode, RequestID: id.New("req", time.Now()),
			Caller: apirequest.Context{
				APIVersion: found.DefaultVersion.OrCurrent(),
				Merchant:   found.Merchant,
			}.By(apirequest.ActorAcquirer, "")},
		Method: "POST", Path: acquirer.NotificationsPath, Fingerprint: m.Digest,
	}, settledPart{m, part.Batch, part.Part, part})
	if err != nil {
		return err
	}
	logSetAside(ctx, e.Log(), answer)
	return nil
}

// logSetAside tells operators of movements that were just set aside.
func logSetAside(ctx context.Context, log *slog.Logger, answer phase.Response) {
	var made SettlementObject
	if json.Unmarshal(answer.Body, &made) == nil && made.SetAside > 0 {
		log.ErrorContext(ctx, "settled movements contradict our records and are set aside",
			slog.String("settlement", made.ID), slog.Int("movements", made.SetAside))
	}
}
