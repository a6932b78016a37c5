package simulator

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

// maxBodyBytes is above any honest order: evidence may be long.
const maxBodyBytes = 384 << 10

// Handler serves the protocol of package acquirer, and what proofs and
// demonstrations need besides:
//
//	GET  /journal?card=&key=   movements as JSON lines, oldest first
//	GET  /settlement?from=&to= the settlement file, see acquirer.SettlementLine
//	GET  /authorizations?from=&to=  what moved a card, see acquirer.Authorization
//	POST /notifications/resend?from=  send the notifications since then again
//	GET  /journal/summary      how often cards were charged, and how often twice under a key
//	GET  /fault              what goes wrong at the moment
//	POST /fault              what goes wrong from now on: "drop_after_acting=0.2", or nothing
//	GET  /healthz              200 while the database answers; needs no secret
func (s *Simulator) Handler() http.Handler {
	protected := http.NewServeMux()
	protected.HandleFunc("POST /operations/{key}", s.postOperation)
	protected.HandleFunc("GET /operations/{key}", s.getOperation)
	protected.HandleFunc("POST /operations/{key}/reverse", s.postReverse)
	protected.HandleFunc("GET "+acquirer.JournalPath, s.getJournal)
	protected.HandleFunc("GET "+acquirer.SummaryPath, s.getSummary)
	protected.HandleFunc("GET "+acquirer.SettlementPath, s.getSettlement)
	protected.HandleFunc("GET "+acquirer.AuthorizationsPath, s.getAuthorizations)
	protected.HandleFunc("POST "+acquirer.ResendPath, s.postResend)
	protected.HandleFunc("GET /fault", s.getFault)
	protected.HandleFunc("POST /fault", s.postFault)

	all := http.NewServeMux()
	all.HandleFunc("GET /healthz", s.getHealth)
	all.Handle("/", s.requireSecret(protected))
	return all
}

func (s *Simulator) requireSecret(next http.Handler) http.Handler {
	// Hashed, so that the comparison takes the same time for any length.
	want := sha256.Sum256([]byte("Bearer " + s.secret))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			respond(w, http.StatusUnauthorized, acquirer.Refusal{Reason: acquirer.ReasonUnauthorized})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Simulator) postOperation(w http.ResponseWriter, r *http.Request) {
	q := &question{kind: askFor, key: r.PathValue("key")}
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	body.DisallowUnknownFields()
	err := body.Decode(&q.asked)
	if err == nil {
		err = validate(q.asked)
	}
	if err != nil {
		refuse(w, q.key, acquirer.ReasonInvalid, err.Error())
		return
	}
	s.serve(w, r, q)
}

func (s *Simulator) getOperation(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, &question{kind: lookUp, key: r.PathValue("key")})
}

func (s *Simulator) postReverse(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, &question{kind: reverse, key: r.PathValue("key")})
}

// serve handles a call, with the faults that apply to it.
func (s *Simulator) serve(w http.ResponseWriter, r *http.Request, q *question) {
	if !isName(q.key) {
		refuse(w, q.key, acquirer.ReasonInvalid, "a key must be 1 to 255 printable ASCII characters")
		return
	}
	fault, err := s.faultFor(r)
	if err != nil {
		refuse(w, q.key, acquirer.ReasonInvalid, err.Error())
		return
	}
	time.Sleep(fault.slow)
	switch {
	case fault.dropBeforeActing:
		panic(http.ErrAbortHandler) // cuts the connection without an answer
	case fault.failBeforeActing:
		refuse(w, q.key, acquirer.ReasonUnavailable, "injected fault: fail_before_acting")
		return
	}
	q.forget = fault.forgetKeys
	q.retire = fault.retireKey && q.kind == askFor
	reply, err := s.writer.answer(q)
	switch {
	case err != nil:
		s.log.Error("a batch failed", "error", err)
		refuse(w, q.key, acquirer.ReasonUnavailable, "the outcome is unknown")
	case fault.dropAfterActing:
		panic(http.ErrAbortHandler)
	case fault.failAfterActing:
		refuse(w, q.key, acquirer.ReasonUnavailable, "injected fault: fail_after_acting")
	case reply.refusal != "":
		refuse(w, q.key, reply.refusal, "")
	case reply.reversed:
		respond(w, http.StatusOK, acquirer.Reversal{Key: q.key, Reversed: true})
	default:
		if fault.wrongAmount {
			reply.operation.Result.Amount++
		}
		if fault.lateNotifications {
			reply.operation.Notifications = nil
		}
		w.Header().Set(acquirer.ReplayedHeader, strconv.FormatBool(reply.replayed))
		respond(w, http.StatusOK, reply.operation)
	}
}

func (s *Simulator) faultFor(r *http.Request) (fault, error) {
	var struck fault
	s.faults.Load().strike(&struck)
	header := r.Header.Get(acquirer.FaultHeader)
	if header == "" {
		return struck, nil
	}
	if !s.allowFault {
		s.log.Warn("faults are not allowed here", "fault", header)
		return struck, nil
	}
	asked, err := parseFaults(header)
	if err != nil {
		return struck, err
	}
	asked.strike(&struck)
	return struck, nil
}

func (s *Simulator) getSummary(w http.ResponseWriter, r *http.Request) {
	summary, err := summarize(r.Context(), s.pool)
	if err != nil {
		s.log.Error("cannot sum up the journal", "error", err)
		refuse(w, "", acquirer.ReasonUnavailable, "")
		return
	}
	respond(w, http.StatusOK, summary)
}

func (s *Simulator) getJournal(w http.ResponseWriter, r *http.Request) {
	found, err := movements(r.Context(), s.pool, r.FormValue("key"), r.FormValue("card"))
	if err != nil {
		s.log.Error("cannot read the journal", "error", err)
		refuse(w, "", acquirer.ReasonUnavailable, "cannot read the journal")
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	lines := json.NewEncoder(w)
	for _, m := range found {
		err := lines.Encode(m)
		if err != nil {
			return // the reader has gone
		}
	}
}

func (s *Simulator) getFault(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, s.faults.Load().text)
}

func (s *Simulator) postFault(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err == nil {
		err = s.SetFault(string(text))
	}
	if err != nil {
		refuse(w, "", acquirer.ReasonInvalid, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Simulator) getHealth(w http.ResponseWriter, r *http.Request) {
	err := s.pool.Ping(r.Context())
	if err != nil {
		refuse(w, "", acquirer.ReasonUnavailable, "the database is unavailable")
		return
	}
	w.WriteHeader(http.StatusOK)
}

var statusOf = map[string]int{
	acquirer.ReasonNeverHappened: http.StatusNotFound,
	acquirer.ReasonReversed:      http.StatusGone,
	acquirer.ReasonKeyRetired:    http.StatusUnprocessableEntity,
	acquirer.ReasonKeyReused:     http.StatusConflict,
	acquirer.ReasonIrreversible:  http.StatusConflict,
	acquirer.ReasonInvalid:       http.StatusBadRequest,
	acquirer.ReasonUnavailable:   http.StatusServiceUnavailable,
}

func refuse(w http.ResponseWriter, key, reason, message string) {
	respond(w, statusOf[reason], acquirer.Refusal{Key: key, Reason: reason, Message: message})
}

func respond(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // our own types always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text) // an error here is the client's to notice
}

// validate refuses orders that are not even worth a line in the journal.
func validate(asked acquirer.Request) error {
	order := asked.Order
	switch asked.Verb {
	case acquirer.VerbAuthorize:
		if order.Card == "" || order.Authorization != "" {
			return errors.New("authorize needs a card and no authorization")
		}
	case acquirer.VerbVerify:
		if order.Card == "" || order.Authorization != "" || order.Capture || order.Amount != 0 {
			return errors.New("verify needs a card, and neither authorization, capture nor amount")
		}
	case acquirer.VerbCapture, acquirer.VerbVoid, acquirer.VerbRefund:
		if order.Authorization == "" || order.Card != "" || order.Capture {
			return fmt.Errorf("%s needs an authorization, and neither card nor capture", asked.Verb)
		}
	case acquirer.VerbPayOut:
		if order.Destination == "" || order.Card != "" || order.Authorization != "" || order.Capture {
			return errors.New("pay_out needs a destination, and neither card, authorization nor capture")
		}
	case acquirer.VerbRecall:
		if order.Authorization == "" || order.Card != "" || order.Capture {
			return errors.New("recall needs an authorization, and neither card nor capture")
		}
	case acquirer.VerbSubmitEvidence, acquirer.VerbAcceptDispute:
		if order.Dispute == "" || order.Authorization != "" || order.Card != "" || order.Capture {
			return fmt.Errorf("%s needs a dispute and nothing else", asked.Verb)
		}
	default:
		return fmt.Errorf("unknown verb %q", asked.Verb)
	}
	if order.Amount < 0 || (order.Amount == 0 && asked.Verb != acquirer.VerbVoid && asked.Verb != acquirer.VerbVerify) {
		return errors.New("the amount must be positive")
	}
	if !isName(order.Card+order.Destination+order.Authorization+order.Dispute+order.Object) ||
		looksLikeNumber(order.Card) {
		return errors.New("a card or authorization must be a name of 1 to 255 printable ASCII characters, never a " +
			"number")
	}
	if !isCurrency(order.Currency) {
		return errors.New("the currency must be three lower-case letters")
	}
	return nil
}

// isName keeps out what Postgres would refuse, because that would fail a whole batch.
func isName(name string) bool {
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 255
}

// looksLikeNumber recognizes what might be a card's number, so that none is ever
// stored: no name of a test card has as many as eight digits.
func looksLikeNumber(card string) bool {
	digits := 0
	for _, c := range card {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	return digits >= 8
}

func isCurrency(code string) bool {
	for _, c := range code {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return len(code) == 3
}
