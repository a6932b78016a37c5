package lab

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	repository "github.com/ratchet-pay/ratchet"
)

// Source is the code of the design, as it is compiled.
func (d Design) Source() string {
	text, err := repository.Source.ReadFile(d.Code)
	if err != nil {
		return ""
	}
	return string(text)
}

// statementsByName are the SQL constants of all designs, with single spaces.
var statementsByName = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	files, _ := fs.Glob(repository.Source, "internal/lab/design/*.go")
	for _, file := range files {
		text, _ := repository.Source.ReadFile(file) // it is embedded
		for _, found := range constant.FindAllStringSubmatch(string(text), -1) {
			all[found[1]] = strings.Join(strings.Fields(found[2]), " ")
		}
	}
	return all
})

var constant = regexp.MustCompile("(?m)^(?:const |\\t)(\\w+) += ?`([^`]*)`")

// LineOf is the line of the design's source, from 1, that the process of an event is at,
// or 0 if it is in no line of it. The event is the run's n-th.
func (r Run) LineOf(n int) int {
	d, _ := FindDesign(r.Design)
	lines := strings.Split(d.Source(), "\n")
	e := r.Events[n]
	if r.Design == "ratchet" && e.Kind != Killed && e.Kind != Stopped {
		return r.lineOfRatchet(lines, n)
	}
	switch e.Kind {
	case Statement:
		return lineOfStatement(lines, e.What)
	case AsksStore:
		command, _, _ := strings.Cut(e.What, " ")
		return lineWith(lines, map[string]string{"GET": ".Get(", "SET": ".SetNX(", "SETEX": ".SetEX("}[command])
	case CallsBank, BankAnswers, BankSilent:
		return lineWith(lines, append([]string{"ank.Charge(", "Authorize("}, behind...)...)
	case Answers:
		return lineWith(lines, "answer.send()", "return c.JSONBlob(http.StatusOK, response)",
			"return c.JSONBlob(http.StatusOK, answer)", "return c.JSONBlob(http.StatusOK, []byte(response))",
			"c.JSON(http.StatusOK")
	case Delivered:
		return lineWith(lines, ") handle(")
	case Acks, Severed:
		return lineWith(lines, r.acknowledgment(n))
	case Rejects:
		return lineWith(lines, ".Nak")
	case Killed, Stopped:
		for before := n - 1; before >= 0; before-- {
			if r.Events[before].PID == e.PID && r.Events[before].Kind != Killed && r.Events[before].Kind != Stopped {
				return r.LineOf(before)
			}
		}
	}
	return 0
}

// lineOfRatchet is the line of CreateCharge, of whose phases only the transactions are
// seen: everything that a phase writes leaves with its commit. The engine, which looks the
// key up and takes the request over, is at the table of the phases.
func (r Run) lineOfRatchet(lines []string, n int) int {
	const table, finalized = "var CreateCharge = ", "charge.finalize(tx)"
	e := r.Events[n]
	switch {
	case e.Kind == CallsBank || e.Kind == BankAnswers || e.Kind == BankSilent:
		return lineWith(lines, "Authorize(")
	case e.Kind == FencedOff:
		return lineWith(lines, finalized)
	case e.Kind == Answers && r.has(n, e.PID, "finish AS ("):
		return lineWith(lines, "return replyWithCharge(ctx, tx, in.Expand, &charge")
	case e.Kind == Answers:
		return lineWith(lines, table)
	case e.Kind != Statement:
		return 0
	}
	for _, of := range []struct{ part, line string }{
		{"claim AS (", "charge.insert(tx)"},
		{"finish AS (", finalized},
		{"INTO fence_refusals", finalized},
		{"BEGIN", "AdoptParams{"},
		{"clock_timestamp() AS now", table},
		{"c.phase, c.generation", table},
		{"runs r SET epoch", table},
		{"parked AS (", table},
	} {
		if strings.Contains(e.What, of.part) {
			return lineWith(lines, of.line)
		}
	}
	return 0 // such as the lookup of the API key
}

// has says whether a process has sent a statement with this part before the n-th event.
func (r Run) has(n int, pid int, part string) bool {
	return slices.ContainsFunc(r.Events[:n], func(e Event) bool {
		return e.PID == pid && e.Kind == Statement && strings.Contains(e.What, part)
	})
}

// acknowledgment is the line that acknowledges what the process has handled, or what it
// has seen before.
func (r Run) acknowledgment(n int) string {
	for before := n - 1; before >= 0; before-- {
		e := r.Events[before]
		if e.PID != r.Events[n].PID {
			continue
		}
		if e.Kind == Delivered {
			break
		}
		if e.Kind == BankAnswers || e.Kind == Statement && strings.Contains(e.What, "INTO orders") {
			return "m.Ack() // a lost"
		}
	}
	return "m.Ack()"
}

// lineWith is the first line that has the first of the texts that any line has.
func lineWith(lines []string, texts ...string) int {
	for _, text := range texts {
		has := func(line string) bool { return text != "" && strings.Contains(line, text) }
		if i := slices.IndexFunc(lines, has); i >= 0 {
			return i + 1
		}
	}
	return 0
}

// behind are calls behind which a design's file has the shop that charges and books.
var behind = []string{"q.do(", "capture(c, next)", "process()"}

// lineOfHelper is the line that calls the function beside the file that sends a statement.
func lineOfHelper(lines []string, begins string) int {
	switch {
	case strings.Contains(begins, "pg_try_advisory_lock"):
		return lineWith(lines, ".lock(")
	case strings.Contains(begins, "pg_advisory_unlock"):
		return lineWith(lines, "unlock()")
	}
	return lineWith(lines, append(behind, "replayKey(")...)
}

// lineOfStatement is the line that uses the constant of the statement. A statement of a
// file beside the design's is at the call that leads there.
func lineOfStatement(lines []string, sent string) int {
	first, _, _ := strings.Cut(sent, "; ")
	begins, _, _ := strings.Cut(first, "$")
	switch strings.ToLower(begins) {
	case "begin":
		return lineWith(lines, ".Begin(", "BeginFunc(")
	case "rollback":
		return lineWith(lines, ".Rollback(")
	case "commit":
		return lineWith(lines, ".Commit(", "BeginFunc(")
	}
	line := 0
	for name, sql := range statementsByName() {
		if !strings.HasPrefix(sql, strings.TrimSpace(begins)) {
			continue
		}
		used := regexp.MustCompile(`[( ]` + name + `[,)]`)
		if i := slices.IndexFunc(lines, used.MatchString); i >= 0 && (line == 0 || i+1 < line) {
			line = i + 1
		}
	}
	if line == 0 {
		line = lineOfHelper(lines, begins)
	}
	return line
}
