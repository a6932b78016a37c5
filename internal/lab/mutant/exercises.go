package mutant

import "slices"

// Exercise is one safeguard to remove, and what to look at.
type Exercise struct {
	Name    string // in commands
	Fault   string // of the lab
	Removes string // what Ratchet does no longer
	Asks    string // what the reader predicts
	Why     string // what explains the result

	Charged, Booked int // what the bank says then, and what our books say
	Edits           []Edit
}

// Edits that are also faults of test/mutants.
var (
	KeyPerAttempt = Edit{File: "internal/phase/foreign.go",
		Old: "Permit{key: call.Key, mode:", New: "Permit{key: fmt.Sprint(call.Key, x.request.Epoch), mode:"}
	TimeoutIsDecline = Edit{File: "internal/payment/charge_create.go",
		Old: "\treturn err\n}\n\nfunc (in CreateChargeParams) captures()",
		New: `	if err != nil {
		s.Result = acquirer.Result{Code: "card_declined", Message: "Your card was declined."}
	}
	return nil
}

func (in CreateChargeParams) captures()`}
	EpochInKey = Edit{File: "internal/idempotency/fingerprint.go",
		Old: "r.Flow, phase, number(generation))", New: "number(int16(r.Epoch)), r.Flow, phase, number(generation))"}
)

// Exercises are the safeguards whose loss is seen at the bank or in our list of charges.
var Exercises = []Exercise{
	{
		Name: "derived-key", Fault: "answer-not-recorded", Charged: 2, Booked: 1,
		Removes: "The bank gets a new key with every attempt. (The epoch is the number of the attempt.)",
		Asks:    "How many times does the bank charge the card?",
		Why: "The second process called the bank under another key, so the bank took it for a new charge. Our books " +
			"have one charge. This is the failure that the derived key prevents.",
		Edits: []Edit{KeyPerAttempt},
	},
	{
		Name: "timeout", Fault: "bank-timeout", Charged: 1, Booked: 0,
		Removes: "A bank that does not answer in time counts as a decline.",
		Asks:    "How many charges are in our books?",
		Why: "The bank charged the card after we had stopped waiting. We told the customer that the card was " +
			"declined, and our books have no charge. A timeout is not a decline: the outcome is unknown until the " +
			"bank says what it did.",
		Edits: []Edit{TimeoutIsDecline},
	},
	{
		Name: "liveness", Fault: "answer-not-recorded", Charged: 1, Booked: 0,
		Removes: "A process that crashed counts as alive.",
		Asks:    "How many charges are in our books while the client retries?",
		Why: "None. Every retry gets 409, because only the lease of 30 seconds would end " +
			"the wait. Ratchet can afford to be wrong about which process is alive, because the derived key and " +
			"the fence make a takeover harmless. So it takes over after a second.",
		Edits: []Edit{{File: "internal/idempotency/find.go",
			Old: "const Alive = `is_ahead(w.alive_until, '1 s')`", New: "const Alive = `w.alive_until IS NOT NULL`"}},
	},
	{
		Name: "epoch-in-key", Fault: "answer-not-recorded", Charged: 1, Booked: 1,
		Removes: "The derived key is computed from the epoch, too. The epoch goes up with every takeover.",
		Asks:    "How many times does the bank charge the card?",
		Why: "Once. Did you say 2? The first transaction stored the key with the request, so the second process did " +
			"not compute it again. Computing matters when that row is lost, for example in a failover to a standby " +
			"that is behind: then the client's retry is a first request, and only a key made of what it repeats is " +
			"the same. TestDerivedKey in internal/phase catches this fault.",
		Edits: []Edit{EpochInKey},
	},
}

// Find returns the exercise of a name.
func Find(name string) (Exercise, bool) {
	i := slices.IndexFunc(Exercises, func(e Exercise) bool { return e.Name == name })
	if i < 0 {
		return Exercise{}, false
	}
	return Exercises[i], true
}
