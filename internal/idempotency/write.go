package idempotency

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
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
	Ord       int16           // place of the last of them
	Memo      json.RawMessage // for later phases; nil when there are none
	Calls     []ForeignCall   // to be made next
	Answered  []string        // phases whose calls have been answered
	Undone    []string        // phases whose calls are proven to have done nothing
	Owner     string
	Retention time.Duration   // of the answer; 0 is AnswerRetention
	Finish    *StoredResponse // nil while there is more to do
}

const claimRequest = `
	WITH claimed AS (
		INSERT INTO requests (account_id, id, livemode, key, incarnation, keyless, method, path, fingerprint, fingerprint_version,
			params, context, flow, version, point, ord, memo, state, owner, lease_until,
			status, headers, body, object_id, created_at, finished_at, expires_at)
		VALUES (@account_id, @id, @livemode, @key, @incarnation, @keyless, @method, @path, @fingerprint, @fingerprint_version,
			@params, @context, @flow, @version, @point, @ord, @memo, @state, @owner, clock_timestamp() + @lease::interval,
			@status, @headers, @body, @object_id, @now, @finished_at, @expires_at)
		RETURNING account_id, id
	), reached AS (
		INSERT INTO journal (account_id, request_id, point, epoch)
		SELECT claimed.account_id, claimed.id, point, 1 FROM claimed, unnest(@points::text[]) AS point
	)
	INSERT INTO calls (account_id, request_id, phase, derived_key)
	SELECT claimed.account_id, claimed.id, c.phase, c.derived_key
	FROM claimed, unnest(@call_phases::text[], @call_keys::text[]) AS c (phase, derived_key)`

// Claim takes a key: it inserts the request together with everything its first
// transaction reached. Two first requests at once meet in the unique constraint
// "a_key_has_one_request", and one of them fails: the other inserts read from
// the request's, or the two would meet in a constraint that says less.
func Claim(r *Request, s *Step, now time.Time) Statement {
	args := outcomeArgs(s, now)
	args["account_id"], args["id"], args["livemode"], args["key"] = r.AccountID, r.ID, r.Livemode, r.Key
	args["incarnation"], args["keyless"], args["method"], args["path"] = r.Incarnation, r.Keyless, r.Method, r.Path
	args["fingerprint"], args["fingerprint_version"] = r.Fingerprint, r.FingerprintVersion
	args["params"], args["context"], args["flow"], args["version"] = r.Params, r.Caller, r.Flow, r.Version
	args["now"] = now
	args["call_phases"], args["call_keys"] = callArgs(s.Calls)
	return Statement{claimRequest, args}
}

const advanceRequest = `
	WITH advanced AS (
		UPDATE requests
		SET point = @point, ord = @ord, memo = @memo, state = @state, owner = @owner, lease_until = clock_timestamp() + @lease::interval,
		    status = @status, headers = @headers, body = @body, object_id = @object_id, finished_at = @finished_at, expires_at = @expires_at
		WHERE account_id = @account_id AND id = @id AND epoch = @epoch AND point = @from AND state = 'running'
		RETURNING 1
	), reached AS (
		INSERT INTO journal (account_id, request_id, point, epoch)
		SELECT @account_id, @id, point, @epoch FROM unnest(@points::text[]) AS point
	), answered AS (
		UPDATE calls SET verdict = CASE WHEN phase = ANY (@answered::text[]) THEN 'executed' ELSE 'not_executed' END,
		                 evidence = CASE WHEN phase = ANY (@answered::text[]) THEN NULL ELSE 'reversed: nothing can be done under this key any more' END,
		                 sends = sends + 1
		WHERE account_id = @account_id AND request_id = @id AND verdict = 'unknown' AND phase = ANY (@answered::text[] || @undone::text[])
	), asked AS (
		INSERT INTO calls (account_id, request_id, phase, derived_key)
		SELECT @account_id, @id, c.phase, c.derived_key FROM unnest(@call_phases::text[], @call_keys::text[]) AS c (phase, derived_key)
	)
	SELECT CASE count(*) WHEN 1 THEN 1 ELSE exactly(1, count(*), 'fence') END FROM advanced`

// Advance moves a claimed request on. It is the fence as well: if the request
// no longer stands where the driver left it, under the driver's epoch, the
// whole transaction fails.
func Advance(r *Request, s *Step, now time.Time) Statement {
	args := outcomeArgs(s, now)
	args["account_id"], args["id"], args["epoch"], args["from"] = r.AccountID, r.ID, r.Epoch, s.From
	args["answered"], args["undone"] = nonNil(s.Answered), nonNil(s.Undone)
	args["call_phases"], args["call_keys"] = callArgs(s.Calls)
	return Statement{advanceRequest, args}
}

// outcomeArgs are the columns that say what state a step leaves a request in.
func outcomeArgs(s *Step, now time.Time) pgx.StrictNamedArgs {
	args := pgx.StrictNamedArgs{
		"point": s.Points[len(s.Points)-1], "ord": s.Ord, "points": s.Points, "memo": s.Memo,
		"state": Running, "owner": s.Owner, "lease": LeaseTime,
		"status": nil, "headers": nil, "body": nil, "object_id": nil, "finished_at": nil, "expires_at": nil,
	}
	if s.Finish != nil {
		args["state"], args["owner"], args["lease"] = Finished, nil, nil
		args["status"], args["headers"], args["body"] = s.Finish.Status, s.Finish.Headers, s.Finish.Body
		args["finished_at"], args["expires_at"] = now, now.Add(cmp.Or(s.Retention, AnswerRetention))
		if s.Finish.ObjectID != "" {
			args["object_id"] = s.Finish.ObjectID
		}
	}
	return args
}

func callArgs(calls []ForeignCall) (phases, keys []string) {
	phases, keys = make([]string, 0, len(calls)), make([]string, 0, len(calls))
	for _, call := range calls {
		phases, keys = append(phases, call.Phase), append(keys, call.Key)
	}
	return phases, keys
}

// nonNil turns a nil slice, which the driver would send as NULL, into an empty one.
func nonNil(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

const fenceRequest = `SELECT fence(@account_id, @id, @epoch, @point)`

// Fence locks the request's row for its driver, or fails with the SQLSTATE of
// FenceCode. A transaction that reads before it writes starts with it.
func Fence(r *Request) Statement {
	return Statement{fenceRequest, pgx.StrictNamedArgs{"account_id": r.AccountID, "id": r.ID, "epoch": r.Epoch, "point": r.Point}}
}

// FenceCode is the SQLSTATE with which the database refuses an overtaken driver.
const FenceCode = "RT001"

const parkRequest = `
	WITH parked AS (
		UPDATE requests
		SET state = 'parked', owner = NULL, lease_until = NULL, attempts = attempts + @attempt, due_at = clock_timestamp() + @wait::interval
		WHERE account_id = @account_id AND id = @id AND epoch = @epoch AND state = 'running'
		RETURNING 1
	), sent AS (
		UPDATE calls SET sends = sends + @sent
		WHERE account_id = @account_id AND request_id = @id AND verdict = 'unknown'
	)
	SELECT CASE count(*) WHEN 1 THEN 1 ELSE exactly(1, count(*), 'fence') END FROM parked`

// Park lays a request aside until wait has passed. sent says whether the other
// side was reached, counted whether that burns one of the request's attempts.
func Park(r *Request, wait time.Duration, sent, counted bool) Statement {
	return Statement{parkRequest, pgx.StrictNamedArgs{
		"account_id": r.AccountID, "id": r.ID, "epoch": r.Epoch, "wait": wait, "sent": oneIf(sent), "attempt": oneIf(counted)}}
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

const holdRequest = `
	WITH held AS (
		UPDATE requests
		SET state = 'held', owner = NULL, lease_until = NULL, held_reason = @reason
		WHERE account_id = @account_id AND id = @id AND epoch = @epoch AND state = 'running'
		RETURNING 1
	)
	SELECT CASE count(*) WHEN 1 THEN 1 ELSE exactly(1, count(*), 'fence') END FROM held`

// Hold lays a request aside for a person, with the reason.
func Hold(r *Request, reason string) Statement {
	return Statement{holdRequest, pgx.StrictNamedArgs{
		"account_id": r.AccountID, "id": r.ID, "epoch": r.Epoch, "reason": reason}}
}

const spendCall = `
	WITH spent AS (
		UPDATE calls SET verdict = 'not_executed', evidence = @evidence, sends = sends + 1
		WHERE account_id = @account_id AND request_id = @id AND phase = @phase AND verdict = 'unknown'
		RETURNING 1
	)
	SELECT CASE count(*) WHEN 1 THEN 1 ELSE exactly(1, count(*), 'fence') END FROM spent`

const announceGeneration = `
	INSERT INTO calls (account_id, request_id, phase, generation, derived_key)
	VALUES (@account_id, @id, @phase, @generation, @derived_key)`

// Retire writes down the proof that a phase's open key did nothing. It goes behind
// a Fence.
func Retire(r *Request, phase, evidence string) Statement {
	return Statement{spendCall, pgx.StrictNamedArgs{"account_id": r.AccountID, "id": r.ID, "phase": phase, "evidence": evidence}}
}

// Announce writes the next key of a phase down whose last one is spent. It goes
// behind a Fence, and fails where the last key may still have acted.
func Announce(r *Request, call ForeignCall) Statement {
	return Statement{announceGeneration, pgx.StrictNamedArgs{"account_id": r.AccountID, "id": r.ID, "phase": call.Phase,
		"generation": call.Generation, "derived_key": call.Key}}
}
