package page

// Stop is a step of the guided way through the lab: one fault, one or two designs,
// and a question that the reader answers before the runs are shown.
type Stop struct {
	Number   int
	Title    string
	Designs  []string
	Fault    string
	Question string
	Answer   string // one of answers
	Why      string // what explains the answer
}

// answers are what a reader can predict.
var answers = []string{"0", "1", "2", "stuck"}

// Stops are the seven stops. Each adds one fact.
var Stops = []Stop{
	{Title: "The customer pressed Pay once", Designs: []string{"naive"}, Fault: "answer-not-recorded", Answer: "2",
		Question: "The customer pressed Pay once. How many times is the card charged?",
		Why: "Twice. The first process charged the card and died before it could save that. The client tried " +
			"again, as clients do. " +
			"Our books have one charge, so our dashboard looks fine: only the bank's statement shows the second."},
	{Title: "A lock in Redis", Designs: []string{"naive", "redis-1s"}, Fault: "double-click", Answer: "1",
		Question: "The customer presses Pay twice. A middleware locks the key in Redis. How many times does it " +
			"let the card be charged?",
		Why: "Once. The second request finds the lock and has to wait; its retry gets the stored answer. " +
			"Without the lock there are two charges."},
	{Title: "The lock expires", Designs: []string{"redis-1s"}, Fault: "slow-bank", Answer: "2",
		Question: "Nothing crashes. The bank takes 1.8 s, and the lock lives for 1 s. How many times is the card " +
			"charged?",
		Why: "Twice, without any crash. The lock expired while the first request was still waiting for the " +
			"bank, so a retry took it and charged again."},
	{Title: "The lock stays", Designs: []string{"redis-24h"}, Fault: "answer-not-recorded", Answer: "stuck",
		Question: "Now the lock lives for 24 hours, and the process dies after the bank has charged. What does " +
			"the customer get?",
		Why: "The payment is stuck. The customer has paid once and we do not know it. Every retry gets the " +
			"answer that the request is being processed, for a whole day. No lifetime of the lock is right: a " +
			"short one charges twice, a long one hangs."},
	{Title: "One transaction", Designs: []string{"table-tx"}, Fault: "commit-sent", Answer: "1",
		Question: "Key, charge and answer are one database transaction. The process dies with the COMMIT on the " +
			"wire. How many charges?",
		Why: "One. The database committed everything or nothing, and the retry finds the answer. But if the " +
			"process dies a moment earlier, " +
			"when the bank has answered and nothing is committed, the rollback erases our memory of the charge, " +
			"and the bank's remains: two charges."},
	{Title: "Recovery points", Designs: []string{"points"}, Fault: "answer-not-recorded", Answer: "2",
		Question: "The request is saved before the bank is called, and a retry resumes from there. The " +
			"process dies before it records the bank's answer. How many charges?",
		Why: "Two. The retry resumes where it should, at the call to the bank. It cannot know whether the first " +
			"call charged the card, so it calls again, " +
			"and the bank takes it for a new charge. Recovery points alone do not save you."},
	{Title: "The derived key", Designs: []string{"points", "ratchet"}, Fault: "answer-not-recorded", Answer: "1",
		Question: "Ratchet gives the bank a key that it derives from the client's. The process dies at the same " +
			"line. How many charges?",
		Why: "One. The second process calls the bank under the same key, because it derives it from the same " +
			"request. The bank recognizes the key, " +
			"charges nothing, and repeats its answer. That is what the derived key is for. Ratchet is right in " +
			"every row of the matrix."},
}

func init() {
	for i := range Stops {
		Stops[i].Number = i + 1
	}
}
