package lab

import (
	"fmt"
	"strings"
)

// Sentence says what an event was, with everything that a reader needs who sees
// no picture.
func (r Run) Sentence(e Event) string {
	switch e.Kind {
	case Sends:
		if e.N == 1 {
			return fmt.Sprintf("The customer presses Pay: the client sends order %s to process %d.", r.money(), e.PID)
		}
		return fmt.Sprintf("The client retries with the same key: attempt %d of %d, to process %d.", e.N, Attempts,
			e.PID)
	case Hears:
		return fmt.Sprintf("The client receives %s%s.", e.What, meaning(e.What))
	case HangsUp:
		return "The client times out and disconnects."
	case CutOff:
		return "The client's connection breaks. It does not know whether it has paid."
	case GivesUp:
		return "The client gives up. It does not know whether it has paid."
	case Statement:
		return fmt.Sprintf("Process %d sends to the database: %s", e.PID, statements(e.What))
	case AsksStore:
		return fmt.Sprintf("Process %d sends to Redis: %s", e.PID, e.What)
	case CallsBank:
		return fmt.Sprintf("Process %d calls the bank to charge the card.", e.PID)
	case BankAnswers:
		return fmt.Sprintf("Process %d reads the bank's response.", e.PID)
	case Charges:
		return fmt.Sprintf("The bank charges the card %s.", r.money())
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
	case StoreLost:
		return "Redis restarts without its file: its keys are gone."
	case FencedOff:
		return fmt.Sprintf("The fence rejects the commit of process %d: another process has taken the request over.",
			e.PID)
	case Concludes:
		return r.Title() + " " + verdictSentences[r.Verdict()]
	}
	return strings.ReplaceAll(string(e.Kind), "_", " ") + "."
}

var verdictSentences = map[Verdict]string{
	Right: "The card was charged once, and the client knows it.",
	Twice: "The customer has paid more than once.",
	Lost:  "The customer has paid, but our books do not show it.",
	Stuck: "The client never learned what happened.",
	Wrong: "That is not right.",
}

// Sentence says what a verdict means.
func (v Verdict) Sentence() string { return verdictSentences[v] }

// statements are those of one packet. Of many, the first says what it is about.
func statements(sent string) string {
	first, others, more := strings.Cut(sent, "; ")
	if !more {
		return first
	}
	return fmt.Sprintf("%s … and %d more, in one transaction", first, strings.Count(others, "; ")+1)
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
