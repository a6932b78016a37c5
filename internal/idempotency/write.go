package idempotency

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Statement is SQL with its arguments, to be sent with others in one packet.
type Statement struct {
	SQL  string
	Args any
}

// Step is how far one transaction brings a request: the points it reaches, the
// calls it announces, and the answer if it is the last.
type Step struct {
	From      string          // the point it starts from: part of the fence
	Points    []string        // reached by it, in order
	Position  int16           // place of the last of them
	StateData json.RawMessage // for later phases; nil if there are none
	Calls     []ForeignCall   // to be made next
	Answered  []string        // phases whose calls have been answered; they are among Points
	Undone    []string        // phases whose calls are proven to have done nothing; only the last step has any
	Owner     string
	Retention time.Duration   // of the answer; 0 is AnswerRetention
	Finish    *StoredResponse // nil while there is more to do
}

// A member is a request's part in a statement. Every statement that claims,
// advances or finishes takes its members as rows, so that one statement can do it
// for many requests. Rows are in one order everywhere, so that two statements
// never wait for each other.
type member struct {
	request *Request
	step    *Step
	now     time.Time
}

// identityFields are in every row: which request it is, and what it has reached.
type identityFields struct {
	AccountID string `db:"account_ids"`
	ID        string `db:"ids"`
	Points    string `db:"points"`
}

const (
	identityRows = `@account_ids::text[], @ids::text[], @points::text[]`
	identityRow  = `account_id, id, points`
)

func (m member) identity() identityFields {
	return identityFields{m.request.AccountID, m.request.ID, postgres.TextArray(m.step.Points)}
}

// requestFields are what a member asked for.
type requestFields struct {
	Livemode           bool      `db:"livemodes"`
	Key                string    `db:"keys"`
	KeyGenerated       bool      `db:"key_generated"`
	Method             string    `db:"methods"`
	Path               string    `db:"paths"`
	Fingerprint        []byte    `db:"fingerprints"`
	FingerprintVersion int16     `db:"fingerprint_versions"`
	Params             string    `db:"params"`
	Context            string    `db:"contexts"`
	Flow               string    `db:"flows"`
	Version            int16     `db:"versions"`
	CreatedAt          time.Time `db:"created_at"`
}

const (
	requestRows = `@livemodes::boolean[], @keys::text[], @key_generated::boolean[], @methods::text[], @paths::text[],
		@fingerprints::bytea[], @fingerprint_versions::smallint[], @params::text[], @contexts::text[],
		@flows::text[], @versions::smallint[], @created_at::timestamptz[]`
	requestRow = `livemode, key, key_generated, method, path, fingerprint,
		fingerprint_version, params, context, flow, version, created_at`

	asked = `asked AS (
		INSERT INTO requests (account_id, id, livemode, key, key_generated, method, path, fingerprint,
			fingerprint_version, params, context, flow, version, created_at)
		SELECT account_id, id, livemode, key, key_generated, method, path, fingerprint,
			fingerprint_version, params::json, context::json, flow, version, created_at
		FROM claim ORDER BY account_id, key
		RETURNING account_id, id, flow, version
	)`
)

func (m member) asked() requestFields {
	r := m.request
	return requestFields{r.Livemode, r.Key, r.KeyGenerated, r.Method, r.Path, r.Fingerprint, r.FingerprintVersion,
		string(r.Params), postgres.JSONText(r.Caller), r.Flow, r.Version, m.now}
}

// goingOnFields are what a member needs to go on: its state, the calls that are made next,
// its owner.
type goingOnFields struct {
	StateData  string `db:"state_data"`
	CallPhases string `db:"call_phases"`
	CallKeys   string `db:"call_keys"`
	Owner      string `db:"owners"`
}

const (
	goingOnRows = `@state_data::text[], @call_phases::text[], @call_keys::text[], @owners::text[]`
	goingOnRow  = `state_data, call_phases, call_keys, owner`

	// leaseFromNow is when the lease of a run ends that is claimed or advanced: after LeaseTime.
	leaseFromNow = `clock_timestamp() + interval '30 s'`
)

func (m member) goingOn() goingOnFields {
	var phases, keys []string
	for _, call := range m.step.Calls {
		phases, keys = append(phases, call.Phase), append(keys, call.Key)
	}
	return goingOnFields{string(m.step.StateData), postgres.TextArray(phases), postgres.TextArray(keys), m.step.Owner}
}

// answerFields are what a member was answered.
type answerFields struct {
	Status     int16     `db:"statuses"`
	Headers    string    `db:"headers"`
	Body       []byte    `db:"bodies"`
	ObjectID   *string   `db:"object_ids"`
	FinishedAt time.Time `db:"finished_at"`
	ExpiresAt  time.Time `db:"expires_at"`
}

const (
	answerRows = `@statuses::smallint[], @headers::text[], @bodies::bytea[], @object_ids::text[],
		@finished_at::timestamptz[], @expires_at::timestamptz[]`
	answerRow = `status, headers, body, object_id, finished_at, expires_at`
)

func (m member) answered() answerFields {
	response := m.step.Finish
	a := answerFields{Status: int16(response.Status), Headers: postgres.JSONText(response.Headers), Body: response.Body,
		FinishedAt: m.now, ExpiresAt: m.now.Add(cmp.Or(m.step.Retention, AnswerRetention))}
	if response.ObjectID != "" {
		a.ObjectID = &response.ObjectID
	}
	return a
}

// fenceFields are where the lease of a member has to be for its step to happen.
type fenceFields struct {
	Epoch int32  `db:"epochs"`
	From  string `db:"from"`
}

const (
	fenceRows = `@epochs::integer[], @from::text[]`
	fenceRow  = `epoch, stood_on`

	fenced = `r.account_id = m.account_id AND r.request_id = m.id AND r.epoch = m.epoch
		AND r.recovery_points[cardinality(r.recovery_points)] = m.stood_on AND r.state = 'running'`
)

func (m member) fence() fenceFields { return fenceFields{m.request.Epoch, m.step.From} }

// rows are the members' parts in one statement.
func rows[T any](members []member, of func(member) T) postgres.Rows {
	all := make([]T, len(members))
	for i, m := range members {
		all[i] = of(m)
	}
	return postgres.RowsOf(all...)
}

const claimRequests = `
	WITH claim AS (
		SELECT * FROM unnest(` + identityRows + `, ` + requestRows + `, ` + goingOnRows + `)
			AS m (` + identityRow + `, ` + requestRow + `, ` + goingOnRow + `)
	), ` + asked + `
	INSERT INTO runs (account_id, request_id, flow, version, state, recovery_points, reached_at, reached_epochs,
		call_phases, call_keys, call_generations, call_sent_at, call_attempts, state_data, owner, lease_until)
	SELECT q.account_id, q.id, q.flow, q.version, 'running', reached.points,
		array_fill(clock_timestamp(), ARRAY[cardinality(reached.points)]),
		array_fill(1, ARRAY[cardinality(reached.points)]),
		call.phases, m.call_keys::text[], array_fill(1::smallint, ARRAY[cardinality(call.phases)]),
		array_fill(clock_timestamp(), ARRAY[cardinality(call.phases)]), array_fill(0, ARRAY[cardinality(call.phases)]),
		m.state_data::json, m.owner, ` + leaseFromNow + `
	FROM asked q JOIN claim m USING (account_id, id)
	CROSS JOIN LATERAL (SELECT m.points::text[]) AS reached (points)
	CROSS JOIN LATERAL (SELECT m.call_phases::text[]) AS call (phases)`

const claimAndFinishRequests = `
	WITH claim AS (
		SELECT * FROM unnest(` + identityRows + `, ` + requestRows + `, ` + answerRows + `)
			AS m (` + identityRow + `, ` + requestRow + `, ` + answerRow + `)
	), ` + asked + `
	INSERT INTO answers (account_id, request_id, status, headers, body, object_id, recovery_points, reached_at,
		reached_epochs, finished_at, expires_at)
	SELECT q.account_id, q.id, m.status, m.headers::json, m.body, m.object_id, reached.points,
		array_fill(clock_timestamp(), ARRAY[cardinality(reached.points)]),
		array_fill(1, ARRAY[cardinality(reached.points)]),
		m.finished_at, m.expires_at
	FROM asked q JOIN claim m USING (account_id, id)
	CROSS JOIN LATERAL (SELECT m.points::text[]) AS reached (points)`

// Claim takes a key: it inserts the request together with everything its first
// transaction reached. Two first requests at once meet in the unique constraint
// "requests_key_is_used_once", and one of them fails: the other inserts read from
// the request's, or the two would meet in a constraint that says less.
func Claim(r *Request, s *Step, now time.Time) Statement {
	return claim(s.Finish != nil, member{r, s, now})
}

func claim(finished bool, members ...member) Statement {
	if finished {
		return Statement{claimAndFinishRequests, rows(members, member.claimedAndFinished)}
	}
	return Statement{claimRequests, rows(members, member.claimed)}
}

type claimRow struct {
	identityFields
	requestFields
	goingOnFields
}

func (m member) claimed() claimRow { return claimRow{m.identity(), m.asked(), m.goingOn()} }

type claimAndFinishRow struct {
	identityFields
	requestFields
	answerFields
}

func (m member) claimedAndFinished() claimAndFinishRow {
	return claimAndFinishRow{m.identity(), m.asked(), m.answered()}
}

const advanceRuns = `
	WITH advance AS (
		SELECT * FROM unnest(` + identityRows + `, ` + fenceRows + `, ` + goingOnRows + `)
			AS m (` + identityRow + `, ` + fenceRow + `, ` + goingOnRow + `)
	), advanced AS (
		UPDATE runs r
		SET recovery_points = r.recovery_points || m.points::text[],
		    reached_at = r.reached_at || array_fill(clock_timestamp(), ARRAY[cardinality(m.points::text[])]),
		    reached_epochs = r.reached_epochs || array_fill(r.epoch, ARRAY[cardinality(m.points::text[])]),
		    call_phases = r.call_phases || m.call_phases::text[], call_keys = r.call_keys || m.call_keys::text[],
		    call_generations = r.call_generations || array_fill(1::smallint, ARRAY[cardinality(m.call_phases::text[])]),
		    call_sent_at = r.call_sent_at || array_fill(clock_timestamp(), ARRAY[cardinality(m.call_phases::text[])]),
		    call_attempts = r.call_attempts || array_fill(0, ARRAY[cardinality(m.call_phases::text[])]),
		    state_data = m.state_data::json, owner = m.owner, lease_until = ` + leaseFromNow + `
		FROM advance m
		WHERE ` + fenced + `
		RETURNING 1
	)
	SELECT CASE count(*) WHEN cardinality(@ids::text[]) THEN 1
		ELSE assert_row_count(cardinality(@ids::text[]), count(*), 'fence') END FROM advanced`

const (
	finishRuns       = `WITH ` + finishing + `, ` + ended + `, ` + answered
	finishRunsUndone = `WITH ` + finishingUndone + `, ` + retired + `, ` + endedUndone + `, ` + answered

	finishing = `finish AS (
		SELECT * FROM unnest(` + identityRows + `, ` + fenceRows + `, ` + answerRows + `)
			AS m (` + identityRow + `, ` + fenceRow + `, ` + answerRow + `)
	)`

	finishingUndone = `finish AS (
		SELECT ` + identityRow + `, ` + fenceRow + `, ` + answerRow + `, undone::text[] AS undone
		FROM unnest(` + identityRows + `, ` + fenceRows + `, ` + answerRows + `, @undone::text[])
			AS m (` + identityRow + `, ` + fenceRow + `, ` + answerRow + `, undone)
	)`

	ended = `ended AS (
		DELETE FROM runs r USING finish m
		WHERE ` + fenced + `
		RETURNING ` + endedRun + `, r.call_phases, r.call_keys, r.call_generations, r.call_sent_at, r.call_attempts
	)`
	endedRun = `r.account_id, r.request_id, r.epoch, r.attempts, r.recovery_points, r.reached_at, r.reached_epochs, ` +
		`m.points::text[] AS points, m.status, m.headers, m.body, m.object_id, m.finished_at, m.expires_at`

	answered = `answered AS (
		INSERT INTO answers (account_id, request_id, status, headers, body, object_id, recovery_points, reached_at,
			reached_epochs, call_phases, call_keys, call_generations, call_sent_at, call_attempts, attempts,
			finished_at, expires_at)
		SELECT account_id, request_id, status, headers::json, body, object_id, recovery_points || points,
			reached_at || array_fill(clock_timestamp(), ARRAY[cardinality(points)]),
			reached_epochs || array_fill(epoch, ARRAY[cardinality(points)]),
			call_phases, call_keys, call_generations, call_sent_at, call_attempts, attempts, finished_at, expires_at
		FROM ended
		RETURNING 1
	)
	SELECT CASE count(*) WHEN cardinality(@ids::text[]) THEN 1
		ELSE assert_row_count(cardinality(@ids::text[]), count(*), 'fence') END FROM answered`

	// A call that was reversed has done nothing. Its key is retired before the run ends,
	// because only an open call of a run can be; the rest of the calls go into the answer.
	retired = `retired AS (
		INSERT INTO foreign_calls (account_id, request_id, phase, generation, derived_key, sent_at, attempts, proof)
		SELECT r.account_id, r.request_id, c.phase, c.generation, c.key, c.sent_at, c.attempts + 1,
			'reversed: nothing can be done under this key any more'
		FROM runs r JOIN finish m ON ` + fenced + `
		CROSS JOIN LATERAL unnest(r.call_phases, r.call_generations, r.call_keys, r.call_sent_at, r.call_attempts)
			AS c (phase, generation, key, sent_at, attempts)
		WHERE c.phase = ANY (m.undone)
		RETURNING 1
	)`
	endedUndone = `ended AS (
		DELETE FROM runs r USING finish m, (SELECT count(*) FROM retired) AS first
		WHERE ` + fenced + `
		RETURNING ` + endedRun + `,
			` + keptCalls + ` AS call_phases, ` + keptKeys + ` AS call_keys, ` + keptGenerations + `
			AS call_generations,
			` + keptSentAt + ` AS call_sent_at, ` + keptAttempts + ` AS call_attempts
	)`
	keptCalls = `ARRAY(SELECT c.value FROM unnest(r.call_phases, r.call_phases)
		WITH ORDINALITY AS c (phase, value, n) ` + kept
	keptKeys = `ARRAY(SELECT c.value FROM unnest(r.call_phases, r.call_keys)
		WITH ORDINALITY AS c (phase, value, n) ` + kept
	keptGenerations = `ARRAY(SELECT c.value FROM unnest(r.call_phases, r.call_generations)
		WITH ORDINALITY AS c (phase, value, n) ` + kept
	keptSentAt = `ARRAY(SELECT c.value FROM unnest(r.call_phases, r.call_sent_at)
		WITH ORDINALITY AS c (phase, value, n) ` + kept
	keptAttempts = `ARRAY(SELECT c.value FROM unnest(r.call_phases, r.call_attempts)
		WITH ORDINALITY AS c (phase, value, n) ` + kept
	kept = `WHERE c.phase <> ALL (m.undone) ORDER BY c.n)`
)

// Advance moves a claimed request on, or finishes it. It is the fence as well: if
// the run is no longer as the driver left it, under the driver's epoch, the
// whole transaction fails.
func Advance(r *Request, s *Step, now time.Time) Statement {
	m := member{r, s, now}
	switch {
	case s.Finish == nil:
		return advance(m)
	case len(s.Undone) > 0:
		return Statement{finishRunsUndone, rows([]member{m}, member.finishedUndone)}
	}
	return finish(m)
}

func advance(members ...member) Statement {
	return Statement{advanceRuns, rows(members, member.advanced)}
}

type advanceRow struct {
	identityFields
	fenceFields
	goingOnFields
}

func (m member) advanced() advanceRow { return advanceRow{m.identity(), m.fence(), m.goingOn()} }

func finish(members ...member) Statement {
	return Statement{finishRuns, rows(members, member.finished)}
}

type finishRow struct {
	identityFields
	fenceFields
	answerFields
}

func (m member) finished() finishRow { return finishRow{m.identity(), m.fence(), m.answered()} }

type finishUndoneRow struct {
	finishRow
	Undone string `db:"undone"`
}

func (m member) finishedUndone() finishUndoneRow {
	return finishUndoneRow{m.finished(), postgres.TextArray(m.step.Undone)}
}

const assertLease = `SELECT assert_lease(@account_id, @id, @epoch, @point)`

// Fence locks the request's run for its driver, or fails with the SQLSTATE of
// FenceCode. A transaction that reads before it writes starts with it.
func Fence(r *Request) Statement {
	return Statement{assertLease, pgx.StrictNamedArgs{
		"account_id": r.AccountID, "id": r.ID, "epoch": r.Epoch, "point": r.Point}}
}

// FenceCode is the SQLSTATE with which the database refuses an overtaken driver.
const FenceCode = "RT001"

// A call that has no answer yet has been tried once more.
const parkRun = `
	WITH parked AS (
		UPDATE runs r
		SET state = 'parked', owner = NULL, lease_until = NULL, attempts = attempts + @attempt,
			due_at = clock_timestamp() + @wait::interval,
		    call_attempts = ARRAY(SELECT c.attempts + CASE WHEN c.phase = ANY (r.recovery_points) THEN 0 ELSE @sent END
		                          FROM unnest(r.call_phases, r.call_attempts)
		                          WITH ORDINALITY AS c (phase, attempts, n) ORDER BY c.n)
		WHERE account_id = @account_id AND request_id = @id AND epoch = @epoch AND state = 'running'
		RETURNING 1
	)
	SELECT CASE count(*) WHEN 1 THEN 1 ELSE assert_row_count(1, count(*), 'fence') END FROM parked`

// Park lays a request aside until wait has passed, which is LongestWait at most.
// sent says whether the call reached the acquirer, counted whether that uses up one of
// the request's attempts.
func Park(r *Request, wait time.Duration, sent, counted bool) Statement {
	return Statement{parkRun, pgx.StrictNamedArgs{
		"account_id": r.AccountID, "id": r.ID, "epoch": r.Epoch,
		"wait": min(wait, LongestWait), "sent": oneIf(sent), "attempt": oneIf(counted)}}
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

const holdRun = `
	WITH held AS (
		UPDATE runs
		SET state = 'needs_review', owner = NULL, lease_until = NULL, reason = @reason
		WHERE account_id = @account_id AND request_id = @id AND epoch = @epoch AND state = 'running'
		RETURNING 1
	)
	SELECT CASE count(*) WHEN 1 THEN 1 ELSE assert_row_count(1, count(*), 'fence') END FROM held`

// Hold lays a request aside for a person, with the reason.
func Hold(r *Request, reason string) Statement {
	return Statement{holdRun, pgx.StrictNamedArgs{
		"account_id": r.AccountID, "id": r.ID, "epoch": r.Epoch, "reason": reason}}
}

// The open call of a phase leaves the run and becomes a row with its proof.
const retireCall = `
	WITH retired AS (
		INSERT INTO foreign_calls (account_id, request_id, phase, generation, derived_key, sent_at, attempts, proof)
		SELECT r.account_id, r.request_id, c.phase, c.generation, c.key, c.sent_at, c.attempts + @sent, @proof
		FROM runs r
		CROSS JOIN LATERAL unnest(r.call_phases, r.call_generations, r.call_keys, r.call_sent_at, r.call_attempts)
			AS c (phase, generation, key, sent_at, attempts)
		WHERE r.account_id = @account_id AND r.request_id = @id AND c.phase = @phase
			AND c.phase <> ALL (r.recovery_points)
		RETURNING account_id, request_id, phase
	), removed AS (
		UPDATE runs r
		SET call_phases = r.call_phases[:place.n - 1] || r.call_phases[place.n + 1:],
		    call_keys = r.call_keys[:place.n - 1] || r.call_keys[place.n + 1:],
		    call_generations = r.call_generations[:place.n - 1] || r.call_generations[place.n + 1:],
		    call_sent_at = r.call_sent_at[:place.n - 1] || r.call_sent_at[place.n + 1:],
		    call_attempts = r.call_attempts[:place.n - 1] || r.call_attempts[place.n + 1:]
		FROM (SELECT t.account_id, t.request_id, array_position(o.call_phases, t.phase) AS n
		      FROM retired t JOIN runs o ON o.account_id = t.account_id AND o.request_id = t.request_id) AS place
		WHERE r.account_id = place.account_id AND r.request_id = place.request_id
		RETURNING 1
	)
	SELECT CASE count(*) WHEN 1 THEN 1 ELSE assert_row_count(1, count(*), 'fence') END FROM removed`

const announceCall = `
	WITH announced AS (
		UPDATE runs
		SET call_phases = call_phases || @phase::text, call_keys = call_keys || @derived_key::text,
			call_generations = call_generations || @generation::smallint,
		    call_sent_at = call_sent_at || clock_timestamp(), call_attempts = call_attempts || 0
		WHERE account_id = @account_id AND request_id = @id
		RETURNING 1
	)
	SELECT CASE count(*) WHEN 1 THEN 1 ELSE assert_row_count(1, count(*), 'fence') END FROM announced`

// Retire records the proof that a phase's open key did nothing, and retires the
// key. It goes behind a Fence.
func Retire(r *Request, phase, proof string) Statement {
	return retire(r.AccountID, r.ID, phase, proof, true)
}

func retire(accountID, id, phase, proof string, sent bool) Statement {
	return Statement{retireCall, pgx.StrictNamedArgs{
		"account_id": accountID, "id": id, "phase": phase, "proof": proof, "sent": oneIf(sent)}}
}

// Announce announces the next key of a phase whose last one is retired. It goes
// behind a Fence, and fails where the last key may still have acted.
func Announce(r *Request, call ForeignCall) Statement {
	return Statement{announceCall, pgx.StrictNamedArgs{"account_id": r.AccountID, "id": r.ID, "phase": call.Phase,
		"generation": call.Generation, "derived_key": call.Key}}
}
