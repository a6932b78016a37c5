package phase

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Request is a request as it came in: who asks, under which key, for what.
type Request struct {
	Caller
	Method, Path string
	Fingerprint  []byte // idempotency.Fingerprint of the request as it was sent
	// FingerprintVersion is the root secret's version of the fingerprint's key; 0 is 1.
	FingerprintVersion int16
	// Otherwise are its fingerprints under other keys: of older secrets, and of one that is new. An earlier attempt may
	// have been made under one of them.
	Otherwise [][]byte
	Wait      time.Duration // how long to wait for the same key's first request; 0 refuses at once
}

// Response is what to send back: bytes that are already committed.
type Response struct {
	idempotency.StoredResponse
	Key             string // the key the request is kept under, ours if the caller sent none
	Replayed        bool
	OriginalRequest string // id of the request that used the key first
}

// Serve answers a request: it replays the response of its key, refuses the key,
// waits for or takes over an attempt that is under way, or runs the operation.
// The error is what Config.Refuse made of a Refusal, what a check or the first
// transaction returned, or one for the operator.
//
// A crash at any line leaves either nothing at all or a row from which the same
// request, sent again, or the completer goes on.
func (f *Flow[P, S]) Serve(ctx context.Context, e *Engine, request Request, in P) (Response, error) {
	attempt, waiting, end := contexts(ctx, request.Wait)
	defer end()
	accepted, err := e.accept(attempt, request, &runOf[P, S]{Flow: f, in: in})
	if err != nil {
		return Response{}, err
	}
	defer accepted.release()
	for {
		x, response, err := accepted.decide(attempt, waiting)
		if x != nil {
			response, err = x.execute(attempt)
			err = accepted.resolve(attempt, x, err)
		}
		if !errors.Is(err, errTaken) {
			return response, err
		}
	}
}

// contexts returns that of the attempt and that of a client that waits for another one. The
// client may hang up at any moment: what it started is finished, but a client
// that only waits is not waited for.
func contexts(client context.Context, wait time.Duration) (attempt, waiting context.Context, end func()) {
	attempt, cancel := context.WithTimeout(context.WithoutCancel(client), executionTimeout)
	waiting, stop := context.WithTimeout(client, wait)
	return attempt, waiting, func() { cancel(); stop() }
}

// errTaken means that another attempt claimed the key, or took the request over,
// a moment ago: Serve looks at the key again.
var errTaken = errors.New("the key is already claimed")

// accept finds an incoming request a slot, and a key if it came without one.
func (e *Engine) accept(ctx context.Context, request Request, r run) (*incoming, error) {
	in := incoming{Request: request, engine: e, run: r, keyGenerated: request.Key == "",
		key: idempotency.Key{AccountID: request.AccountID, Livemode: request.Livemode, Key: request.Key}}
	if in.keyGenerated {
		in.key.Key = id.New("auto", time.Now())
	}
	var err error
	in.release, in.full, err = e.enter(ctx, in.key.AccountID, in.keyGenerated)
	return &in, err
}

// incoming is a request that Serve is answering.
type incoming struct {
	Request
	engine       *Engine
	run          run
	key          idempotency.Key
	keyGenerated bool
	release      func() // gives the slot back
	full         error  // there is no slot for new work, only for looking the key up
	lost         int    // claims that were not committed
}

// find looks a key up. Find says what it returns.
func (e *Engine) find(ctx context.Context, key idempotency.Key) (*idempotency.Lookup, time.Time, error) {
	if e.committer == nil {
		return idempotency.Find(ctx, e.pool, key)
	}
	return e.committer.find(ctx, key)
}

// decide looks the key up. It returns an execution if this process is to execute
// the request, and otherwise its response or the reason why there is none.
func (in *incoming) decide(ctx, waiting context.Context) (*execution, Response, error) {
	e := in.engine
	found, now, err := e.find(ctx, in.key)
	switch {
	case err != nil:
		return nil, Response{}, e.unfinished(in.key.Key, err)
	case found == nil && in.full != nil:
		return nil, Response{}, in.full
	case found == nil:
		x, err := in.begin(ctx, now)
		return x, Response{}, err
	}
	switch reason := in.misused(found); {
	case reason != "":
		return nil, Response{}, e.refuse(Refusal{Reason: reason, Key: in.key.Key, RequestID: found.ID, Path: found.Path,
			ObjectID: found.Response.ObjectID, CreatedAt: found.CreatedAt, RefusedPath: in.Path})
	case found.State == idempotency.Finished:
		response, err := e.replicated(ctx, in.key, found)
		if err != nil {
			return nil, Response{}, e.unfinished(in.key.Key, err)
		}
		return nil, Response{StoredResponse: e.decrypt(response, found.ID), Key: in.key.Key, Replayed: true,
			OriginalRequest: found.ID}, nil
	case found.State == idempotency.Held:
		return nil, Response{}, e.refuse(Refusal{Reason: NeedsReview, Key: in.key.Key, RequestID: found.ID})
	case found.OwnerAlive:
		in.release() // another attempt does the work
		if e.waiters.wait(waiting, in.key) == nil {
			return nil, Response{}, errTaken
		}
		return nil, Response{}, e.refuse(Refusal{Reason: InProgress, Key: in.key.Key, RequestID: found.ID})
	case in.full != nil:
		return nil, Response{}, in.full
	}
	x, err := in.takeOver(ctx, found)
	in.release() // what is left of a request has no bound: it is finished
	return x, Response{}, err
}

// misused says why a key cannot be used for this request: it belongs to another request,
// or its response has been deleted. It returns "" if it can.
func (in *incoming) misused(found *idempotency.Lookup) Reason {
	switch {
	case found.Method != in.Method || found.Path != in.Path:
		return DifferentEndpoint
	case !in.is(found.Fingerprint):
		return DifferentParameters
	case found.Erased:
		return ResponseRedacted
	case found.State == idempotency.Archived:
		return ResponseArchived
	}
	return ""
}

// is says whether a fingerprint is that of this request.
func (in *incoming) is(fingerprint []byte) bool {
	return bytes.Equal(fingerprint, in.Fingerprint) || slices.ContainsFunc(in.Otherwise,
		func(other []byte) bool { return bytes.Equal(fingerprint, other) })
}

// begin checks a request whose key has not been used, and begins its execution.
func (in *incoming) begin(ctx context.Context, now time.Time) (*execution, error) {
	e, started := in.engine, time.Now() // together with now: the check takes time, too
	r := in.run.copy()
	if err := in.verify(ctx, r, now); err != nil {
		return nil, e.nothingStored(in.key.Key, in.recheck(ctx, err))
	}
	params, err := r.encodeParams()
	if err != nil {
		return nil, err
	}
	d := r.flowDefinition()
	return &execution{run: r, definition: d, engine: e, started: started, now: now, clientWaiting: true,
		release: in.release,
		request: &idempotency.Request{
			AccountID: in.key.AccountID, Livemode: in.key.Livemode, Key: in.key.Key, ID: in.RequestID,
			KeyGenerated: in.keyGenerated, Method: in.Method, Path: in.Path,
			Fingerprint: in.Fingerprint, FingerprintVersion: cmp.Or(in.FingerprintVersion, 1),
			Params: params, Caller: in.Caller.Caller, Flow: d.name, Version: d.version, Epoch: 1, CreatedAt: now,
		}}, nil
}

// verify runs the check of a request, for as long as the database may take.
func (in *incoming) verify(ctx context.Context, r run, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return r.verify(ctx, in.engine.pool, Check{Caller: in.Caller, At: now, roots: in.engine.roots})
}

// resolve decides what an execution's error means while nothing is stored. The
// key's own first attempt may be in the way: errTaken.
func (in *incoming) resolve(ctx context.Context, x *execution, err error) error {
	if err == nil || x.claimed {
		return err
	}
	err = in.recheck(ctx, err)
	if in.lost++; in.lost > maxRetries && errors.Is(err, errTaken) {
		return in.engine.unfinished(in.key.Key, errNotCommitted) // the key is not taken: its claim is lost each time
	}
	return err
}

// recheck looks at the key once more before the caller receives an error of which
// nothing is stored. What stood in the way may be what the key's own first
// attempt has done, if that was committed after we had looked: errTaken.
func (in *incoming) recheck(ctx context.Context, err error) error {
	if in.keyGenerated || errors.Is(err, errTaken) || errors.Is(err, errLost) {
		return err
	}
	if found, _, lost := in.engine.find(ctx, in.key); lost == nil && found != nil {
		return errTaken
	}
	return err
}

// replicated returns the response of a finished request, which no failover can undo:
// where commits wait for a synchronous standby, it is read again in a transaction that
// waits for it.
func (e *Engine) replicated(
	ctx context.Context, key idempotency.Key, found *idempotency.Lookup,
) (idempotency.StoredResponse, error) {
	if !found.Replicated {
		return found.Response, nil
	}
	ctx, cancel := context.WithTimeout(ctx, replicationTimeout)
	defer cancel()
	again, err := idempotency.FindReplicated(ctx, e.writes, key)
	if err != nil {
		return idempotency.StoredResponse{}, err
	}
	if again == nil || again.State != idempotency.Finished {
		return idempotency.StoredResponse{}, idempotency.ErrOvertaken
	}
	return again.Response, nil
}

// replicationTimeout bounds how long a replay waits for the standby.
const replicationTimeout = 2 * time.Second

// takeOver takes an unfinished request over from a process that is dead or has
// parked it.
func (in *incoming) takeOver(ctx context.Context, found *idempotency.Lookup) (*execution, error) {
	e := in.engine
	f, known := e.flows[found.Flow]
	if !known {
		return nil, e.unfinished(in.key.Key, nil) // a process of another version will finish it
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	r, err := idempotency.Resume(ctx, e.writes, in.key.AccountID, found.ID, found.Epoch, e.owner)
	if err != nil {
		e.doubt()
		return nil, e.unfinished(in.key.Key, err)
	}
	if r == nil {
		return nil, errTaken
	}
	return e.resumed(ctx, f, r, TakenByClient), nil
}

// resumed is the execution of a request that was taken over.
func (e *Engine) resumed(ctx context.Context, f flow, r *idempotency.Request, by EventKind) *execution {
	x := &execution{run: f.newRun(), definition: f.flowDefinition(), engine: e, request: r,
		started: time.Now(), now: r.ResumedAt, claimed: true, clientWaiting: by == TakenByClient}
	x.observe(ctx, by)
	return x
}

// conclude turns the end of an attempt into what the caller receives.
func (x *execution) conclude(ctx context.Context, stored *idempotency.StoredResponse, err error) (Response, error) {
	for err != nil {
		switch {
		case errors.Is(err, errTaken):
			return Response{}, err
		case errors.Is(err, idempotency.ErrOvertaken):
			stored, err = x.replayWinner(ctx)
			if err != nil {
				return Response{}, x.engine.unfinished(x.request.Key, err)
			}
			continue
		case errors.Is(err, errParked), errors.Is(err, errHandedOver):
			return Response{}, x.engine.unfinished(x.request.Key, err)
		case errors.Is(err, errLost):
			x.giveUp()
			x.engine.doubt()
			return Response{}, x.engine.unfinished(x.request.Key, err)
		case errors.Is(err, errHeld):
			return Response{},
				x.engine.refuse(Refusal{Reason: NeedsReview, Key: x.request.Key, RequestID: x.request.ID})
		case !x.claimed:
			return Response{}, x.engine.nothingStored(x.request.Key, err)
		}
		x.engine.log.ErrorContext(ctx, "attempt failed", "flow", x.definition.name, "request", x.request.ID,
			"point", x.request.Point, "error", err)
		err = x.park(ctx, err, true)
	}
	return Response{StoredResponse: x.engine.decrypt(*stored, x.request.ID), Key: x.request.Key, Replayed: x.replayed,
		OriginalRequest: x.request.ID}, nil
}

// replayWinner waits for the response of the process that overtook this one.
func (x *execution) replayWinner(ctx context.Context) (*idempotency.StoredResponse, error) {
	x.observe(ctx, FencedOff)
	x.engine.log.WarnContext(ctx, "overtaken: the fence refused a commit", "flow", x.definition.name,
		"request", x.request.ID, "epoch", x.request.Epoch)
	x.noteRefusal(ctx)
	for {
		found, _, err := x.engine.find(ctx, x.key())
		switch {
		case err != nil:
			return nil, err
		case found != nil && found.State == idempotency.Finished:
			response, err := x.engine.replicated(ctx, x.key(), found)
			if err != nil {
				return nil, err
			}
			x.replayed = true
			return &response, nil
		case found == nil || !found.OwnerAlive || !x.clientWaiting:
			return nil, idempotency.ErrOvertaken
		}
		if err := x.engine.waiters.wait(ctx, x.key()); err != nil {
			return nil, err
		}
	}
}

// noteRefusal records for people that this process came back too late. If the note is
// lost, so is nothing else.
func (x *execution) noteRefusal(ctx context.Context) {
	if !x.claimed {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if err := idempotency.NoteRefusal(ctx, x.engine.writes, x.request, x.engine.owner); err != nil {
		x.engine.log.WarnContext(ctx, "cannot record the refusal", "request", x.request.ID, "error", err)
	}
}

// noteTimeout bounds how long a refused process tries to record it, while its client waits.
const noteTimeout = time.Second

// nothingStored is what the caller receives for an error before the key is
// claimed. A request that only met a busy or an absent database succeeds later.
func (e *Engine) nothingStored(key string, err error) error {
	var response ErrorResponse
	switch {
	case errors.Is(err, errTaken), errors.As(err, &response):
		return err
	case postgres.IsLockTimeout(err):
		return e.refuse(Refusal{Reason: Locked, Key: key, cause: err})
	case postgres.IsTransient(err), errors.Is(err, errQueued):
		return e.refuse(Refusal{Reason: Unavailable, Key: key, cause: err})
	}
	return err
}

// refuse is what the caller receives for a refusal.
func (e *Engine) refuse(r Refusal) error {
	err := e.translate(&r)
	if r.cause != nil {
		return errors.Join(err, r.cause)
	}
	return err
}

// unfinished is the refusal of a request that may be stored and has no response
// yet. Committed work stays; the client may retry with the same key.
func (e *Engine) unfinished(key string, cause error) error {
	return e.refuse(Refusal{Reason: Unfinished, Key: key, cause: cause})
}
