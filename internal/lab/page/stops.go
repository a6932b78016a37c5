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
	Other    string // the address of another run, which Why ends with; "": it speaks of none
}

// answers are what a reader can predict.
var answers = []string{"0", "1", "2", "stuck"}

// Stops are the seven stops. Each adds one fact.
var Stops = []Stop{
	{Title: "The customer pressed Pay once", Designs: []string{"naive"}, Fault: "answer-not-recorded", Answer: "2",
		Question: "The customer pressed Pay once. How many times is the card charged?",
		Why: "Twice. The first process charged the card and died before it could save the charge. The client " +
			"retried, as clients do. Our books have one charge, so our dashboard looks fine: only the bank's " +
			"statement shows the second."},
	{Title: "A lock in Redis", Designs: []string{"naive", "redis-1s"}, Fault: "double-click", Answer: "1",
		Question: "The customer double-clicks Pay. A middleware locks the key in Redis. With the lock, how many " +
			"times is the card charged?",
		Why: "Once. The second request finds the lock and is rejected with 409. Its retry gets the stored response. " +
			"Without the lock there are two charges."},
	{Title: "The lock expires", Designs: []string{"redis-1s"}, Fault: "slow-bank", Answer: "2",
		Question: "Nothing crashes. The bank takes 1.8 seconds, and the lock lives for one. How many times is the " +
			"card charged?",
		Why: "Twice, without any crash. The lock expired while the first request was still waiting for the bank. A " +
			"retry took the lock and charged again."},
	{Title: "The lock stays", Designs: []string{"redis-24h"}, Fault: "answer-not-recorded", Answer: "stuck",
		Question: "Now the lock lives for 24 hours. The process dies after the bank has charged, and the client " +
			"keeps retrying. How does it end?",
		Why: "Stuck. For a whole day, every retry gets 409: the request is being processed. The bank has charged the " +
			"card and our books show nothing, so the verdict is “Lost”. No lifetime of the lock is right: a short " +
			"one charges twice, a long one hangs."},
	{Title: "One transaction", Designs: []string{"table-tx"}, Fault: "commit-sent", Answer: "1",
		Question: "Key, charge and response are one database transaction. The process dies right after it " +
			"sends the COMMIT. How many times is the card charged?",
		Why: "Once. The database commits everything or nothing. Here it committed, and the retry finds the stored " +
			"response. But if the process dies a moment earlier, with the bank's response read and nothing " +
			"committed, the rollback erases our memory of the charge. The bank keeps its charge, and the retry makes " +
			"a second one.",
		Other: "/lab/runs/table-tx/answer-not-recorded"},
	{Title: "Recovery points", Designs: []string{"points"}, Fault: "answer-not-recorded", Answer: "2",
		Question: "The request is saved before the bank is called, and a retry continues from there. How many " +
			"times is the card charged?",
		Why: "Twice. The retry continues where it should, at the call to the bank. It cannot know whether the first " +
			"call charged the card, so it calls again, and to the bank that is a new charge. Recovery points alone " +
			"are not enough."},
	{Title: "The derived key", Designs: []string{"points", "ratchet"}, Fault: "answer-not-recorded", Answer: "1",
		Question: "Ratchet gives the bank a key that it derives from the client's. The process dies at the same " +
			"moment. How many times is the card charged?",
		Why: "Once. The second process derives the same key from the same request, and calls the bank again. The " +
			"bank recognizes the key, charges nothing, and repeats its response. That is what the derived key is for." +
			" Ratchet is right in every row of the matrix."},
}

func init() {
	for i := range Stops {
		Stops[i].Number = i + 1
	}
}
