package phase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Call is a request as it came in: who asks, under which key, for what.
type Call struct {
	Caller
	Method, Path string
	Fingerprint  []byte        // idempotency.Fingerprint of the request as it was sent
	Wait         time.Duration // how long to wait for the same key's first request; 0 answers 409 at once
}

// Answer is what to send back: bytes that are already committed.
type Answer struct {
	idempotency.Answer
	Key             string // the key the request is kept under, ours if the caller sent none
	Replayed        bool
	OriginalRequest string // id of the request that used the key first
}

// Serve answers a request: it replays the answer of its key, refuses the key,
// waits for or takes over an attempt that is under way, or runs the operation.
// The error is an *apierror.Error where the caller should hear it.
//
// A crash at any line leaves either nothing at all or a row from which the same
// request, sent again, or the completer goes on.
func (f *Flow[P, S]) Serve(ctx context.Context, e *Engine, call Call, in P) (Answer, error) {
	return f.serve(ctx, e, call, in)
}

func (t *table) serve(ctx context.Context, e *Engine, call Call, in any) (Answer, error) {
	// The client may hang up at any moment; what it started is finished.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), driveTimeout)
	defer cancel()

	keyless := call.Key == ""
	key := idempotency.Key{AccountID: call.AccountID, Livemode: call.Livemode, Key: call.Key}
	if keyless {
		key.Key = id.New("auto", time.Now())
	}
	leave, full, err := e.enter(ctx, keyless)
	if err != nil {
		return Answer{}, err
	}
	defer leave()
	waitUntil := time.Now().Add(call.Wait)
	for taken := 0; ; {
		found, now, err := idempotency.Find(ctx, e.pool, key)
		if err != nil {
			return Answer{}, unreachable(err)
		}
		if found == nil && full != nil {
			return Answer{}, full
		}
		if found == nil {
			answer, err := t.first(ctx, e, call, key, keyless, in, now, leave)
			if !errors.Is(err, errTaken) {
				return answer, err
			}
			if taken++; taken > transactTries {
				return Answer{}, unreachable(err) // and still no row: it is not taken, the claim is lost each time
			}
			continue // somebody else's first attempt was quicker: look again
		}
		if refusal := refuseKey(found, call, key.Key); refusal != nil {
			return Answer{}, refusal
		}
		switch {
		case found.State == idempotency.Finished:
			return Answer{Answer: e.reveal(found.Answer, found.ID), Key: key.Key, Replayed: true, OriginalRequest: found.ID}, nil
		case found.State == idempotency.Held:
			return Answer{}, apierror.Held(found.ID)
		case found.OwnerAlive:
			if time.Now().Before(waitUntil) {
				leave() // it is not we who work
				time.Sleep(pollEvery)
				continue
			}
			return Answer{}, apierror.Conflict(key.Key)
		case full != nil:
			return Answer{}, full
		}
		flow, known := e.flows[found.Flow]
		if !known {
			return Answer{}, apierror.Unfinished() // a process of another version will finish it
		}
		r, err := idempotency.Resume(ctx, e.pool, key.AccountID, found.ID, found.Epoch, e.owner)
		if err != nil {
			return Answer{}, unreachable(err)
		}
		if r == nil {
			continue // somebody else resumed it first
		}
		leave() // what is left of a request has no bound: it is finished
		answer, err := flow.resume(ctx, e, r, true)
		if errors.Is(err, errTaken) {
			continue // a fail-over has lost the row: look again
		}
		return answer, err
	}
}

// pollEvery is how often a caller that waits for another attempt looks again.
const pollEvery = 20 * time.Millisecond

// errTaken says that a key was claimed by somebody else a moment ago.
var errTaken = errors.New("the key has been taken")

// refuseKey says whether a key stands for another request than this one.
func refuseKey(found *idempotency.Found, call Call, key string) *apierror.Error {
	if found.Method != call.Method || found.Path != call.Path {
		return apierror.Idempotency("Keys for idempotent requests can only be used for the same endpoint they were first used for "+
			"('%s' vs '%s'). Try using a key other than '%s' if you meant to execute a different request.",
			apierror.Excerpt(call.Path), apierror.Excerpt(found.Path), apierror.Excerpt(key))
	}
	if !bytes.Equal(found.Fingerprint, call.Fingerprint) {
		return apierror.Idempotency("Keys for idempotent requests can only be used with the same parameters they were first used with. "+
			"Try using a key other than '%s' if you meant to execute a different request.", apierror.Excerpt(key))
	}
	if found.State == idempotency.Archived || found.Erased {
		made := "its request was refused"
		if found.Answer.ObjectID != "" {
			made = "it made or changed " + found.Answer.ObjectID
		}
		gone := "is no longer kept"
		if found.Erased {
			gone = "can no longer be given, because it held a person's data that has been erased"
		}
		return apierror.Idempotency("The key '%s' was first used on %s and its answer %s (%s). Use a new key for a new request.",
			apierror.Excerpt(key), found.CreatedAt.UTC().Format(time.DateOnly), gone, made)
	}
	return nil
}

// first runs the operation for a key nobody has used.
func (t *table) first(ctx context.Context, e *Engine, call Call, key idempotency.Key, keyless bool, in any, now time.Time, leave func()) (Answer, error) {
	started := time.Now() // together with now: what is checked first takes time, too
	if t.check != nil {
		call.At = now
		completed, err := t.check(ctx, e.pool, call.Caller, in)
		if err != nil {
			return Answer{}, nothingStored(e.refused(ctx, key, keyless, err))
		}
		in = completed
	}
	params, err := json.Marshal(in)
	if err != nil {
		return Answer{}, fmt.Errorf("encode params of %s: %w", t.name, err)
	}
	r := &idempotency.Request{
		AccountID: key.AccountID, Livemode: key.Livemode, Key: key.Key, ID: call.RequestID, Incarnation: 1, Keyless: keyless,
		Method: call.Method, Path: call.Path, Fingerprint: call.Fingerprint, FingerprintVersion: idempotency.FingerprintVersion,
		Params: params, Context: call.Context,
		Flow: t.name, Version: t.version, Epoch: 1, CreatedAt: now,
	}
	d := &drive{flow: t, engine: e, request: r, in: in, state: t.state(), started: started, now: now, patient: true, leave: leave}
	answer, err := d.answer(ctx)
	if err != nil && !d.claimed {
		err = e.refused(ctx, key, keyless, err)
	}
	return answer, err
}

// refused looks at the key once more before a refusal is told of which nothing is
// stored. What stood in the way may be what the key's own first attempt has done,
// if that was committed after we had looked: then its answer counts, errTaken.
func (e *Engine) refused(ctx context.Context, key idempotency.Key, keyless bool, err error) error {
	var refusal *apierror.Error
	if keyless || !errors.As(err, &refusal) || refusal.Status >= http.StatusInternalServerError {
		return err
	}
	if found, _, lost := idempotency.Find(ctx, e.pool, key); lost == nil && found != nil {
		return errTaken
	}
	return err
}

// nothingStored is what the caller hears of an error before the key is claimed. What
// only met a busy or an absent database succeeds when it is asked again.
func nothingStored(err error) error {
	var refusal *apierror.Error
	switch {
	case errors.As(err, &refusal):
		return err
	case postgres.IsLockTimeout(err):
		return errors.Join(apierror.Locked(), err)
	case postgres.IsTransient(err):
		return errors.Join(apierror.Unavailable(), err)
	}
	return err
}

// resume goes on with a request that was taken over.
func (t *table) resume(ctx context.Context, e *Engine, r *idempotency.Request, patient bool) (Answer, error) {
	d := &drive{flow: t, engine: e, request: r, state: t.state(), started: time.Now(), now: r.ResumedAt, claimed: true, patient: patient}
	taken := TakenByWorker
	if patient {
		taken = TakenByClient
	}
	d.happened(ctx, taken)
	return d.answer(ctx)
}

// answer drives the request as far as it goes and says how it ended.
func (d *drive) answer(ctx context.Context) (Answer, error) {
	answer, err := d.run(ctx)
	return Answer{Answer: d.engine.reveal(answer, d.request.ID), Key: d.request.Key, Replayed: d.overtaken, OriginalRequest: d.request.ID}, err
}

// pickUp prepares a request that was taken over for being driven on.
func (d *drive) pickUp(ctx context.Context) error {
	if err := d.recall(); err != nil {
		return d.hold(ctx, err.Error())
	}
	if d.request.Attempts >= maxAttempts {
		// Nobody parked it: every driver died over it. One more would die, too.
		return d.hold(ctx, fmt.Sprintf("no outcome after %d attempts, the last of which did not end", d.request.Attempts))
	}
	calls, err := idempotency.OpenCalls(ctx, d.engine.pool, d.request)
	if err != nil {
		return errors.Join(errLost, err)
	}
	d.calls = calls
	return nil
}

// recall reads what earlier attempts knew back from the request's row.
func (d *drive) recall() (err error) {
	if d.in, err = d.flow.recall(d.request.Params); err != nil {
		return fmt.Errorf("its parameters cannot be read: %w", err)
	}
	if err := json.Unmarshal(d.request.Memo, d.state); err != nil {
		return fmt.Errorf("its state cannot be read: %w", err)
	}
	d.reached, err = d.flow.reached(d.request.Point)
	return err
}

// unreachable is the answer when the database could not be asked. Whatever was
// committed stays; the same key asks again.
func unreachable(err error) error {
	return errors.Join(apierror.Unfinished(), err)
}
