package lab

import (
	"fmt"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
)

// Sentence says what an event was, with everything that a reader needs who sees
// no picture.
func (r Run) Sentence(e Event) string {
	switch e.Kind {
	case Sends, Receives, HangsUp, CutOff, GivesUp, WorkerSends, WorkerReceives:
		return r.clientSentence(e)
	case Publishes, Delivered, Acks, Rejects, Severed, Restarts, BrokerEnds, KeepsForNow:
		return r.queueSentence(e)
	case Charges:
		return fmt.Sprintf("The bank charges the card %s.", r.money())
	case StoreLost:
		return "Redis restarts without its file: its keys are gone."
	case Concludes:
		return r.Title() + " " + r.Meaning()
	}
	return processSentence(e)
}

// clientSentence says what the client did or received, or the worker that retries for it.
func (r Run) clientSentence(e Event) string {
	switch e.Kind {
	case Sends:
		if e.N == 1 {
			return fmt.Sprintf("The customer presses Pay: the client sends order %s to process %d.", r.money(), e.PID)
		}
		return fmt.Sprintf("The client retries with the same key: attempt %d of %d, to process %d.", e.N, Attempts,
			e.PID)
	case Receives:
		return fmt.Sprintf("The client receives %s%s.", e.What, meaning(e.What))
	case HangsUp:
		return "The client times out and disconnects."
	case CutOff:
		return "The client's connection breaks. It does not know whether it has paid."
	case GivesUp:
		return "The client gives up. It does not know whether it has paid."
	case WorkerSends:
		return fmt.Sprintf("A worker sends the order again with the same key: attempt %d of %d, to process %d.", e.N,
			Attempts, e.PID)
	}
	return fmt.Sprintf("The worker receives %s%s.", e.What, meaning(e.What))
}

// processSentence says what a process did, or what was done to it.
func processSentence(e Event) string {
	switch e.Kind {
	case Statement:
		return fmt.Sprintf("Process %d sends to the database: %s", e.PID, statements(e.What))
	case AsksStore:
		return fmt.Sprintf("Process %d sends to Redis: %s", e.PID, e.What)
	case CallsBank:
		return fmt.Sprintf("Process %d calls the bank to charge the card.", e.PID)
	case BankAnswers:
		return fmt.Sprintf("Process %d reads the bank's response.", e.PID)
	case BankSilent:
		return fmt.Sprintf("Process %d stops waiting for the bank. It does not know whether the card was charged.",
			e.PID)
	case Answers:
		return fmt.Sprintf("Process %d sends its response.", e.PID)
	case Killed:
		return fmt.Sprintf("Process %d is killed (SIGKILL) at the boundary “%s”.", e.PID, e.What)
	case Stopped:
		return fmt.Sprintf("Process %d is stopped (SIGSTOP) at the boundary “%s”.", e.PID, e.What)
	case Continued:
		return fmt.Sprintf("Process %d continues (SIGCONT).", e.PID)
	case Starts:
		return fmt.Sprintf("Process %d starts and takes the place of the first.", e.PID)
	case FencedOff:
		return fmt.Sprintf("The fence rejects the commit of process %d: another process has taken the request over.",
			e.PID)
	case WorkerStarts:
		return fmt.Sprintf("Process %d is `ratchet work`: it completes what crashed processes leave.", e.PID)
	}
	return unknownKind(e.Kind)
}

func unknownKind(k Kind) string { return strings.ReplaceAll(string(k), "_", " ") + "." }

// queueSentence says what happened to a message.
func (r Run) queueSentence(e Event) string {
	switch e.Kind {
	case Publishes:
		return fmt.Sprintf("The shop publishes the message that %s order %s.", e.What, r.money())
	case Delivered:
		return fmt.Sprintf("The broker delivers it to process %d: %s.", e.PID, e.What)
	case Acks:
		return fmt.Sprintf("Process %d acknowledges the message.", e.PID)
	case Rejects:
		return fmt.Sprintf("Process %d rejects the message; the broker delivers it again.", e.PID)
	case Severed:
		return fmt.Sprintf("The connection of process %d breaks. The broker never gets the acknowledgment.", e.PID)
	case Restarts:
		return fmt.Sprintf("Process %d takes the place of the first, which was shut down.", e.PID)
	case KeepsForNow:
		return fmt.Sprintf("The inbox keeps the message: %s.", e.What)
	}
	switch Answer(e.What) {
	case GivenUp:
		return "The broker gives up on the message: it was delivered too often."
	case Aside:
		return "The broker has the acknowledgment, and the inbox keeps the message for an operator."
	}
	return "The broker has the acknowledgment: for it, the message is handled."
}

var verdictSentences = map[Verdict]string{
	Right: "The card was charged once, and the client knows it.",
	Twice: "The customer has paid more than once.",
	Lost:  "The customer has paid, but our books do not show it.",
	Stuck: "The client never learned what happened.",
	Gone:  "The order is gone: the card was not charged, and no record shows it.",
	Wrong: "That is not right.",
}

// Meaning says what the verdict means for this run.
func (r Run) Meaning() string {
	verdict := r.Verdict()
	if d, _ := FindDesign(r.Design); d.Queue && verdict == Right {
		if r.Answer == Aside {
			return "The order was not charged, and an operator can see why."
		}
		return "The card was charged once, and the message is handled."
	}
	return verdictSentences[verdict]
}

// statements are those of one packet. Of many, the first says what it is about.
func statements(sent string) string {
	first, others, more := strings.Cut(sent, "; ")
	if len(first) == crashpoint.ExcerptLength { // it goes on, and may be cut within a word
		first = first[:strings.LastIndex(first, " ")+1] + "…"
	}
	if !more {
		return first
	}
	return fmt.Sprintf("%s, and %d more, in one transaction", first, strings.Count(others, "; ")+1)
}

func meaning(status string) string {
	switch status {
	case "200":
		return ": paid"
	case "409":
		return ": the request is being processed"
	case "502", "503":
		return ": the bank did not answer"
	case "500":
		return ": the request failed"
	}
	return ""
}

func (r Run) money() string { return fmt.Sprintf("$%d.%02d", r.Amount/100, r.Amount%100) }
