package stripecli

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const (
	// linesAtOnce is how many log lines a client may have that it has not acknowledged.
	linesAtOnce = 64
	// mostLines is how many a session keeps for a client that is away. Later ones are dropped.
	mostLines = 1000
)

// Request is a request and its answer, for the clients that tail the log.
type Request struct {
	AccountID string
	Livemode  bool
	Method    string
	Path      string
	ID        string // req_…
	Address   string // of the client
	Dashboard bool   // it came from the dashboard
	Status    int
	Answer    []byte // the body, if it is an error
}

type logLine struct {
	sessionKey
	text string
}

// loggedError is the error in a line, without what the client does not show.
type loggedError struct {
	Type        string `json:"type"`
	Charge      string `json:"charge"`
	Code        string `json:"code"`
	DeclineCode string `json:"decline_code"`
	Message     string `json:"message"`
	Param       string `json:"param"`
	Insight     string `json:"error_insight"`
}

// Tailed says whether a client tails the log of an account's mode.
func (h *Hub) Tailed(accountID string, livemode bool) bool {
	return slices.ContainsFunc(*h.tails.Load(), func(s session) bool {
		return s.AccountID == accountID && s.Livemode == livemode
	})
}

// Logged shows a request to the clients that tail its account's log. It never blocks:
// a request does not wait for those who watch it.
func (h *Hub) Logged(r Request) {
	for _, s := range *h.tails.Load() {
		if s.AccountID != r.AccountID || s.Livemode != r.Livemode || !s.filters.match(r) {
			continue
		}
		select {
		case h.lines <- logLine{s.key(), r.line()}:
		default: // more than the database takes
		}
	}
}

func (r Request) line() string {
	text, _ := json.Marshal(struct {
		CreatedAt int64           `json:"created_at"`
		Livemode  bool            `json:"livemode"`
		Method    string          `json:"method"`
		RequestID string          `json:"request_id"`
		Status    int             `json:"status"`
		URL       string          `json:"url"`
		Error     json.RawMessage `json:"error"`
	}{time.Now().Unix(), r.Livemode, r.Method, r.ID, r.Status, r.Path, r.failure()}) // texts and numbers
	return string(text)
}

func (r Request) failure() json.RawMessage {
	var answer struct{ Error *loggedError }
	if r.Status < 400 || json.Unmarshal(r.Answer, &answer) != nil || answer.Error == nil {
		return json.RawMessage("{}")
	}
	text, _ := json.Marshal(answer.Error) // texts
	return text
}

// match says whether a session wants to see a request.
func (f Filters) match(r Request) bool {
	outcome, source := "SUCCEEDED", "API"
	if r.Status >= 400 {
		outcome = "FAILED"
	}
	if r.Dashboard {
		source = "DASHBOARD"
	}
	status := strconv.Itoa(r.Status)
	return oneOf(f.IPAddress, r.Address) && oneOf(f.HTTPMethod, r.Method) && oneOf(f.RequestPath, r.Path) &&
		oneOf(f.RequestStatus, outcome) && oneOf(f.Source, source) && oneOf(f.StatusCode, status) &&
		oneOf(f.StatusCodeType, status[:1]+"00", status[:1]+"XX") && oneOf(f.Account, "self")
}

// oneOf says whether a list names a value, in one of its spellings, or is empty.
func oneOf(wanted []string, spellings ...string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool {
		return slices.Contains(spellings, w) || slices.Contains(spellings, strings.ToUpper(w))
	})
}

const insertLine = `
	INSERT INTO cli_log_lines (account_id, session_id, line, created_at)
	SELECT s.account_id, s.id, @line, clock_timestamp() FROM cli_sessions s
	WHERE s.account_id = @account_id AND s.id = @session_id AND s.ended_at IS NULL
	  AND @most > (SELECT count(*) FROM cli_log_lines WHERE account_id = @account_id AND session_id = @session_id)`

// writeLines writes the lines to where the process with the client's socket finds them.
func (h *Hub) writeLines(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case line := <-h.lines:
			err := h.exec(ctx, insertLine, postgres.Args{"account_id": line.AccountID, "session_id": line.ID,
				"line": line.text, "most": mostLines})
			if err != nil && ctx.Err() == nil {
				h.Log.WarnContext(ctx, "cannot show a request to the Stripe CLI", "session", line.ID, "error", err)
			}
		}
	}
}

// requestLogEvent brings the client a line.
type requestLogEvent struct {
	Type         string `json:"type"`
	RequestLogID string `json:"request_log_id"`
	Payload      string `json:"event_payload"`
}

const lineNamePrefix = "resp_"

// Lines that were sent wait for their acknowledgment. Numbers are given before a line is
// committed, so a line can appear behind one with a higher number.
const selectLines = `
	SELECT number, line FROM cli_log_lines
	WHERE account_id = @account_id AND session_id = @session_id AND number <> ALL (@sent::bigint[])
	ORDER BY number
	LIMIT @limit`

func (s *socket) sendLines(ctx context.Context) error {
	sent := make([]int64, 0, len(s.pending))
	for number := range s.pending {
		sent = append(sent, number)
	}
	lines, err := query[struct {
		Number int64
		Line   string
	}](ctx, s.hub, selectLines, postgres.Args{"account_id": s.AccountID, "session_id": s.ID, "sent": sent,
		"limit": linesAtOnce - len(sent)})
	if err != nil {
		return err
	}
	for _, line := range lines {
		s.pending[line.Number] = true
		err := s.write(ctx, requestLogEvent{"request_log_event", lineNamePrefix + strconv.FormatInt(line.Number, 10),
			line.Line})
		if err != nil {
			return err
		}
	}
	return nil
}

const deleteLine = `
	DELETE FROM cli_log_lines WHERE account_id = @account_id AND session_id = @session_id AND number = @number`

// lineWasRead forgets a line that the client has acknowledged.
func (s *socket) lineWasRead(ctx context.Context, name string) error {
	number, err := strconv.ParseInt(strings.TrimPrefix(name, lineNamePrefix), 10, 64)
	if err != nil {
		return nil
	}
	err = s.hub.exec(ctx, deleteLine,
		postgres.Args{"account_id": s.AccountID, "session_id": s.ID, "number": number})
	if err != nil {
		return err
	}
	select {
	case s.acked <- number:
	case <-ctx.Done():
	}
	s.wake()
	return nil
}
