package docsite

import (
	"html/template"
	"net/http"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/web"
)

// stop is what one of the seven stops asks and shows: a question, and the recorded
// runs of a fault in the lab. The text is in docs/start.
type stop struct {
	Designs  []string // whose runs are shown; the question is about the last one
	Fault    string
	Question string
	Choices  []string
	Answer   string
}

var counts = []string{"0", "1", "2", "stuck"}

// stops are the stops by the names of their documents.
var stops = map[string]stop{
	"01-why-it-is-hard": {Designs: []string{"naive"}, Fault: "answer-not-recorded", Choices: counts, Answer: "2",
		Question: "The customer pressed Pay once. How many times is the card charged?"},
	"02-a-lock": {Designs: []string{"redis-1s"}, Fault: "slow-bank", Choices: counts, Answer: "2",
		Question: "The bank takes 1.8 seconds, and the lock lives for one. How many times is the card charged?"},
	"03-a-transaction": {Designs: []string{"table-tx"}, Fault: "answer-not-recorded", Choices: counts, Answer: "2",
		Question: "Everything is in one transaction. How many times is the card charged?"},
	"04-recovery-points": {Designs: []string{"points"}, Fault: "before-bank", Choices: counts, Answer: "1",
		Question: "The server saved the request and was killed. How many times is the card charged?"},
	"05-the-derived-key": {Designs: []string{"points", "ratchet"}, Fault: "answer-not-recorded", Choices: counts,
		Answer: "1", Question: "How many times does Ratchet charge the card?"},
	"06-the-fence": {Designs: []string{"ratchet"}, Fault: "stopped", Choices: counts, Answer: "1",
		Question: "Two processes bring the same payment to its end. How many times is the card charged?"},
	"07-try-it": {Designs: []string{"ratchet"}, Fault: "while-charging",
		Question: "The bank was called twice and charged once. Which part prevented the second charge?",
		Choices:  []string{"the lock", "the transaction", "the derived key"}, Answer: "the derived key"},
}

type stopPage struct {
	docsPage
	stop
	Intro, Why template.HTML // what is read before the prediction, and after it
	Lanes      []page.Lane
	Story      string // of the fault
	Minutes    int    // until the end
	Shop       bool   // there is one to buy in
	CSRF       string
}

// stop shows one of the seven stops.
func (p *Pages) stop(w http.ResponseWriter, r *http.Request, d docsPage, s stop) {
	intro, why, _ := strings.Cut(string(d.Body), "<hr>\n")
	fault, _ := lab.FindFault(s.Fault)
	shown := stopPage{docsPage: d, stop: s, Intro: template.HTML(intro), Why: template.HTML(why),
		Story: fault.Story, Minutes: max(1, (d.Of+1-d.Chapter)/2), Shop: p.Shop, CSRF: p.Token(r)}
	for _, design := range s.Designs {
		shown.Lanes = append(shown.Lanes, p.Lab.Recorded(design, s.Fault))
	}
	p.Render(w, r, http.StatusOK, "site/stop", web.Page{Title: d.Title, Here: "docs", Data: shown})
}
