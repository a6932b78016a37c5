//go:build unix

package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/design"
)

// orderOf is what the client wants to pay. No other order has its amount, so the
// acquirer's journal tells whose money moved without a word from our tables.
type orderOf struct {
	Order  int64 `json:"order"`
	Amount int64 `json:"amount"`
}

// boundaryTimeout is how long a process may need to the boundary that ends it.
const boundaryTimeout = 20 * time.Second

// run is one order on its way through one design.
type run struct {
	*Runner
	lab.Case
	order    orderOf
	key      string
	trace    string // the file of boundaries
	store    *keyStore
	queue    *queue
	books    *pgxpool.Pool // works in the design's schema; nil for Ratchet and the inbox
	booksURL string
	began    time.Time
	tell     func(lab.Event)

	mu      sync.Mutex
	events  []lab.Event
	current *process // where the client's attempts go
	second  *process // beside it, if there are two consumers
	worker  *process // `ratchet work`, if workers retry
	halted  *process // stopped, and to be continued
	tables  []lab.Table
	ready   chan struct{}
	failure error
}

// Run takes one order through a design while a fault strikes. tell, if not nil,
// receives what happens on the client's side while it happens.
func (s *Runner) Run(ctx context.Context, c lab.Case, tell func(lab.Event)) (lab.Run, error) {
	n := s.orders.Add(1)
	r := &run{
		Runner: s,
		Case:   c,
		tell:   tell,
		ready:  make(chan struct{}),
		order:  orderOf{Order: n, Amount: 2000 + n},
		key:    fmt.Sprintf("order-%d", n),
		trace:  filepath.Join(s.dir, fmt.Sprintf("trace-%d", n)),
	}
	result, err := r.do(ctx)
	if err != nil {
		return result, fmt.Errorf("%s, %s: %w", c.Design.Name, c.Fault.Name, err)
	}
	return result, nil
}

// AtOnce is how many runs there are at once in a matrix. Most of each is waiting.
const AtOnce = 12

// RunAll makes runs, so many at once, and hands every one to done as it ends. It stops
// at the first that cannot be made.
func (s *Runner) RunAll(ctx context.Context, cases []lab.Case, atOnce int, done func(lab.Run)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var mu sync.Mutex
	for _, c := range cases {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			run, err := s.Run(ctx, c, nil)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done(run)
			return nil
		})
	}
	return group.Wait()
}

func (r *run) do(ctx context.Context) (result lab.Run, err error) {
	defer r.end(ctx)
	if err := r.prepare(ctx); err != nil {
		return result, err
	}
	if r.current, err = r.startDesign(ctx); err != nil {
		return result, err
	}
	if r.Consumers > 1 {
		if r.second, err = r.startDesign(ctx); err != nil {
			return result, err
		}
	}
	r.began = time.Now()
	if r.worker != nil {
		r.note(lab.Event{Kind: lab.WorkerStarts, PID: r.worker.pid()})
	}
	var answer lab.Answer
	if r.Design.Queue {
		answer, err = r.consumeOrders(ctx)
	} else {
		answer = r.client(ctx)
	}
	if err := errors.Join(err, r.failure); err != nil {
		return result, err
	}
	if err := r.untilQuiet(); err != nil {
		return result, err
	}
	return r.conclude(ctx, answer)
}

// prepare opens what the design's process works with.
func (r *run) prepare(ctx context.Context) (err error) {
	if design.Schema(r.Design.Name) != "" {
		if r.booksURL, err = design.SchemaURL(r.labURL, r.Design.Name); err != nil {
			return err
		}
		if r.books, err = pgxpool.New(ctx, r.booksURL); err != nil {
			return err
		}
	}
	switch {
	case r.OnRedis():
		r.store, err = r.openStore(ctx, r.LosesStore)
	case r.Design.Queue:
		r.queue, err = r.openQueue(ctx)
	case r.Design.Name == "ratchet" && r.Retries != "":
		r.worker, err = start(ctx, "work", r.Ratchet, r.secrets, "work")
	}
	return err
}

// startDesign starts a process of the design.
func (r *run) startDesign(ctx context.Context) (*process, error) {
	env := []string{crashpoint.Enable + "=1", crashpoint.Trace + "=" + r.trace}
	if r.Design.Name == "ratchet" {
		if r.BankTimeout > 0 {
			env = append(env, "RATCHET_ACQUIRER_TIMEOUT="+r.BankTimeout.String())
		}
		return start(ctx, "serve", r.Ratchet, append(env, r.secrets...), "serve", "--addr", "127.0.0.1:0")
	}
	env = append(env, DatabaseVariable+"="+r.booksURL, AcquirerVariable+"=http://"+r.acquirer.addr,
		SecretVariable+"="+acquirerSecret)
	if r.store != nil {
		env = append(env, RedisVariable+"="+r.store.addr, StoreVariable+"="+string(r.Settings.Store))
		if r.LockSeconds > 0 {
			env = append(env, LockVariable+"="+strconv.Itoa(r.LockSeconds))
		}
	}
	if r.BankTimeout > 0 {
		env = append(env, TimeoutVariable+"="+r.BankTimeout.String())
	}
	if r.queue == nil {
		return start(ctx, r.Design.Name, r.Lab, env, "design", r.Design.Name)
	}
	env = append(env, BrokerVariable+"="+r.queue.url, StreamVariable+"="+r.queue.stream)
	if r.queue.books != nil {
		env = append(env, DatabaseVariable+"="+r.queue.booksURL)
	}
	return start(ctx, r.Design.Name, r.Lab, env, "consume", r.Design.Name)
}

// Variables that tell the process of a design what it works with.
const (
	DatabaseVariable = "RATCHET_LAB_DATABASE_URL"
	AcquirerVariable = "RATCHET_LAB_ACQUIRER_URL"
	SecretVariable   = "RATCHET_LAB_ACQUIRER_SECRET"
	RedisVariable    = "RATCHET_LAB_REDIS"
	LockVariable     = "RATCHET_LAB_LOCK_SECONDS" // 0: as the design has it
	StoreVariable    = "RATCHET_LAB_STORE"        // a lab.Store; "": as the design has it
	BrokerVariable   = "RATCHET_LAB_BROKER"
	StreamVariable   = "RATCHET_LAB_STREAM"
	TimeoutVariable  = "RATCHET_LAB_BANK_TIMEOUT"
)

// client sends the order until it is paid or its attempts are used up.
func (r *run) client(ctx context.Context) lab.Answer {
	struck := make(chan struct{})
	go func() {
		defer close(struck)
		if err := r.strike(ctx); err != nil {
			r.fail(err)
		}
		close(r.ready)
	}()
	answer := r.first(ctx)
	switch r.Retries {
	case lab.ByBoth:
		second := make(chan lab.Answer, 1)
		go func() { second <- r.byWorker(ctx, answer) }()
		answer = r.again(ctx, answer, r.attempt)
		<-second
	case lab.ByWorker:
		answer = r.byWorker(ctx, answer)
	default:
		answer = r.again(ctx, answer, r.attempt)
	}
	<-struck
	r.proceed()
	if answer != lab.Paid {
		r.note(lab.Event{Kind: lab.GivesUp, N: lab.Attempts})
	}
	return answer
}

// again sends the order until it is paid or the attempts are used up.
func (r *run) again(
	ctx context.Context, answer lab.Answer, attempt func(context.Context, int, http.Header) lab.Answer,
) lab.Answer {
	var took time.Duration // by the attempt before
	for n := 2; answer != lab.Paid && n <= lab.Attempts && ctx.Err() == nil; n++ {
		<-r.ready // what was killed is back, or something else has taken its place
		time.Sleep(r.Pause(n, took))
		sent := time.Now()
		if n == lab.Attempts {
			r.proceed()
		}
		answer = attempt(ctx, n, nil)
		took = time.Since(sent)
	}
	return answer
}

// byWorker has a worker repeat what was not answered. Ratchet's own worker needs no
// request for that: it finds what is unfinished in the database.
func (r *run) byWorker(ctx context.Context, answer lab.Answer) lab.Answer {
	if r.Design.Name != "ratchet" {
		return r.again(ctx, answer, r.workerAttempt)
	}
	if answer == lab.Paid {
		return answer
	}
	<-r.ready
	for deadline := time.Now().Add(boundaryTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		booked, err := r.bookedByRatchet(ctx, r.order.Amount)
		if err != nil {
			r.fail(err)
			return answer
		}
		if booked > 0 {
			return lab.Paid
		}
	}
	return answer
}

// first sends the attempt that the fault strikes, twice for a double click.
func (r *run) first(ctx context.Context) lab.Answer {
	headers := http.Header{}
	headers.Set(crashpoint.AtHeader, cmp.Or(r.Boundary(r.Design), "0")) // "0" only draws the trace
	if r.Stop {
		headers.Set(crashpoint.HowHeader, crashpoint.Stop)
	}
	if r.BankTakes > 0 {
		headers.Set(acquirer.FaultHeader, fmt.Sprintf("slow:%d", r.BankTakes.Milliseconds()))
	}
	if !r.DoubleClick {
		return r.attempt(ctx, 1, headers)
	}
	second := make(chan lab.Answer, 1)
	go func() {
		same := headers.Clone()
		same.Del(crashpoint.AtHeader) // one request is traced
		second <- r.attempt(ctx, 1, same)
	}()
	answers := []lab.Answer{r.attempt(ctx, 1, headers), <-second}
	if answers[0] == lab.Paid {
		return answers[1] // the click that was not paid tries again
	}
	return answers[0]
}

// strike waits for what the fault does to the process, and starts the next one.
func (r *run) strike(ctx context.Context) (err error) {
	boundary := r.Boundary(r.Design)
	if boundary == "" || r.Cut {
		return nil
	}
	victim := r.current
	if r.Stop {
		if err := victim.stopped(boundaryTimeout); err != nil {
			return err
		}
		r.note(lab.Event{Kind: lab.Stopped, PID: victim.pid(), What: boundary})
		r.mu.Lock()
		r.halted = victim
		r.mu.Unlock()
	} else {
		if err := victim.died(boundaryTimeout); err != nil {
			return err
		}
		r.note(lab.Event{Kind: lab.Killed, PID: victim.pid(), What: boundary})
	}
	if r.LosesStore && r.store != nil {
		if err := r.store.restart(ctx); err != nil {
			return err
		}
		r.note(lab.Event{Kind: lab.StoreLost})
	}
	next, err := r.startDesign(ctx)
	if err != nil {
		return err
	}
	r.note(lab.Event{Kind: lab.Starts, PID: next.pid()})
	r.mu.Lock()
	r.current = next
	r.mu.Unlock()
	return nil
}

// proceed continues the process that was stopped, if one is.
func (r *run) proceed() {
	r.mu.Lock()
	halted := r.halted
	r.halted = nil
	r.mu.Unlock()
	if halted == nil {
		return
	}
	r.note(lab.Event{Kind: lab.Continued, PID: halted.pid()})
	if err := halted.proceed(); err != nil {
		r.fail(err)
	}
	halted.leave() // when it has done what it was about to do
	if at, refused := halted.logged("the fence refused a commit"); refused {
		r.noteAt(at, lab.Event{Kind: lab.FencedOff, PID: halted.pid()}) // before it has answered
	}
}

// oneByOne opens a connection for each attempt: package crashpoint wants it so, and
// no transport may send a request again on its own.
var oneByOne = &http.Transport{DisableKeepAlives: true}

// attempt has the client send the order once.
func (r *run) attempt(ctx context.Context, n int, headers http.Header) lab.Answer {
	return r.send(ctx, n, headers, lab.Sends, lab.Receives)
}

// workerAttempt has a worker send it.
func (r *run) workerAttempt(ctx context.Context, n int, headers http.Header) lab.Answer {
	return r.send(ctx, n, headers, lab.WorkerSends, lab.WorkerReceives)
}

func (r *run) send(ctx context.Context, n int, headers http.Header, sends, receives lab.Kind) lab.Answer {
	r.mu.Lock()
	to := r.current
	r.mu.Unlock()
	request, err := r.request(ctx, to.addr)
	if err != nil {
		r.fail(err)
		return lab.Failed
	}
	for name, values := range headers {
		request.Header[name] = values
	}
	if headers == nil {
		request.Header.Set(crashpoint.AtHeader, "0")
	}
	r.note(lab.Event{Kind: sends, N: n, PID: to.pid()})
	response, err := (&http.Client{Transport: oneByOne, Timeout: r.Patience}).Do(request)
	if err != nil {
		kind := lab.CutOff
		var failure *url.Error
		if errors.As(err, &failure) && failure.Timeout() {
			kind = lab.HangsUp
		}
		r.note(lab.Event{Kind: kind, N: n})
		return lab.NoAnswer
	}
	_, _ = io.Copy(io.Discard, response.Body) // the status says it
	response.Body.Close()
	r.note(lab.Event{Kind: receives, N: n, What: strconv.Itoa(response.StatusCode)})
	switch response.StatusCode {
	case http.StatusOK:
		return lab.Paid
	case http.StatusConflict:
		return lab.InProgress
	}
	return lab.Failed
}

func (r *run) request(ctx context.Context, addr string) (*http.Request, error) {
	var body io.Reader
	path, kind := "/pay", "application/json"
	if r.Design.Name == "ratchet" {
		path, kind = "/v1/charges", "application/x-www-form-urlencoded"
		body = strings.NewReader(
			url.Values{
				"amount":   {strconv.FormatInt(r.order.Amount, 10)},
				"currency": {"usd"},
				"source":   {"tok_visa"},
			}.Encode())
	} else {
		text, err := json.Marshal(r.order)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Idempotency-Key", r.key)
	if r.Design.Name == "ratchet" {
		request.SetBasicAuth(r.apiKey, "")
	}
	return request, nil
}

// untilQuiet waits until nothing of the order is under way: the process ends when its
// handlers have, and the bank has done what it was asked, however slow it is.
func (r *run) untilQuiet() error {
	for _, p := range []*process{r.current, r.second} {
		if p == nil {
			continue
		}
		p.leave()
		if status := p.cmd.ProcessState; status != nil && !status.Exited() {
			return fmt.Errorf("%s did not finish its requests:\n%s", p.name, p.lastWords())
		}
	}
	const more = 200 * time.Millisecond // until a call that was sent has arrived and is in the journal
	if r.BankTakes == 0 {
		return nil
	}
	asked, err := r.askedBank()
	time.Sleep(time.Until(asked.Add(r.BankTakes + more)))
	return err
}

// The boundaries of a call to the bank.
const bankCalled, bankAnswered = "acquirer: before writing", "acquirer: answer read"

// askedBank is when a process made the last call that the bank is slow for. A server's
// first attempt has one; of a message, every delivery has, and those that were answered
// need no more time.
func (r *run) askedBank() (at time.Time, err error) {
	passed, err := r.passed()
	at = r.began
	open := map[int]time.Time{} // calls without an answer, by process
	for _, p := range passed {
		switch {
		case p.Boundary == bankCalled:
			open[p.PID] = p.At
		case r.Design.Queue && p.Boundary == bankAnswered && !p.Failed:
			delete(open, p.PID) // it has acted
		}
		if len(open) > 0 && !r.Design.Queue {
			break
		}
	}
	for _, called := range open {
		if called.After(at) {
			at = called
		}
	}
	return at, err
}

// conclude asks both books, and puts the trace together.
func (r *run) conclude(ctx context.Context, answer lab.Answer) (result lab.Run, err error) {
	charges, err := r.charges(ctx, r.order.Amount)
	if err != nil {
		return result, err
	}
	booked, err := r.booked(ctx)
	if err != nil {
		return result, err
	}
	for _, at := range charges {
		r.add(lab.Event{US: r.since(at).Microseconds(), Kind: lab.Charges})
	}
	if err := r.addBoundaries(); err != nil {
		return result, err
	}
	slices.SortStableFunc(r.events, func(a, b lab.Event) int { return cmp.Compare(a.US, b.US) })
	r.note(lab.Event{Kind: lab.Concludes})
	result = lab.Run{Design: r.Design.Name, Fault: r.Fault.Name, Settings: r.Settings,
		Charged: len(charges), Booked: booked, Answer: answer,
		Amount: r.order.Amount, MS: r.since(time.Now()).Milliseconds(), Events: r.events}
	if r.store != nil {
		result.Keys = r.store.kind
	}
	return result, nil
}

func (r *run) since(at time.Time) time.Duration { return max(0, at.Sub(r.began)) }

// note adds an event of this moment.
func (r *run) note(e lab.Event) { r.noteAt(time.Now(), e) }

// noteAt adds an event of an earlier moment, with the tables as they are now.
func (r *run) noteAt(at time.Time, e lab.Event) {
	e.US = r.since(at).Microseconds()
	if changes[e.Kind] {
		tables, err := r.tablesNow(context.Background())
		if err != nil {
			r.fail(err)
		}
		e.Tables = tables
	}
	r.add(e)
	if r.tell != nil {
		r.tell(e)
	}
}

func (r *run) add(e lab.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure = errors.Join(r.failure, err)
}

// end leaves no process behind.
func (r *run) end(ctx context.Context) {
	r.mu.Lock()
	processes := []*process{r.current, r.second, r.halted, r.worker}
	r.mu.Unlock()
	for _, p := range processes {
		if p != nil {
			p.kill()
		}
	}
	_ = os.Remove(r.trace) // there may be none
	r.store.close()
	if r.books != nil {
		r.books.Close()
	}
	if r.queue != nil {
		r.queue.close(ctx)
		if r.queue.books != nil {
			r.dropInbox()
		}
	}
}

// addBoundaries adds what the processes have passed, in the words of the trace.
func (r *run) addBoundaries() error {
	all, err := r.passed()
	if err != nil {
		return err
	}
	var last lab.Event
	severed := false
	for _, passed := range all {
		r.date(passed)
		e, tells := eventOf(passed)
		if !tells || e.Kind == lab.Answers && last.Kind == lab.Answers && last.PID == e.PID {
			continue // an answer may be written in pieces
		}
		e.US = r.since(passed.At).Microseconds()
		if r.prevented(e) {
			continue
		}
		if r.Cut && e.Kind == lab.Acks && !severed {
			e.Kind, severed = lab.Severed, true // the first acknowledgment is what the fault loses
		}
		r.add(e)
		last = e
	}
	return nil
}

// passed are the boundaries that the processes have passed, by the trace.
func (r *run) passed() (all []crashpoint.Passed, err error) {
	text, err := os.ReadFile(r.trace)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(text) {
		var p crashpoint.Passed
		if json.Unmarshal(line, &p) == nil { // the process may be killed in the middle of a line
			all = append(all, p)
		}
	}
	return all, err
}

// date moves the end of a process to the last boundary that it has passed: we
// noticed it a moment later.
func (r *run) date(passed crashpoint.Passed) {
	for i := range r.events {
		e := &r.events[i]
		if e.PID == passed.PID && (e.Kind == lab.Killed || e.Kind == lab.Stopped && r.isEnd(passed.Boundary)) {
			e.US = r.since(passed.At).Microseconds() + 1
		}
	}
}

// isEnd says whether the process that the fault strikes ends at a boundary.
func (r *run) isEnd(boundary string) bool {
	names := strings.Split(r.Boundary(r.Design), crashpoint.Then)
	return strings.HasPrefix(boundary, names[len(names)-1])
}

// prevented says whether an event did not happen, because the process was killed
// before what the boundary means.
func (r *run) prevented(e lab.Event) bool {
	return slices.ContainsFunc(r.events, func(end lab.Event) bool {
		return end.Kind == lab.Killed && end.PID == e.PID && end.US == e.US+1 &&
			strings.Contains(end.What, "before ")
	})
}

// eventOf is what a boundary says to people; most say nothing.
func eventOf(p crashpoint.Passed) (e lab.Event, tells bool) {
	e.PID = p.PID
	switch {
	case p.Boundary == "broker: delivered":
		e.Kind, e.What = lab.Delivered, strings.Join(p.Sent, "; ")
	case p.Boundary == "broker: before acknowledgment":
		e.Kind = lab.Acks
	case p.Boundary == "broker: after rejection":
		e.Kind = lab.Rejects
	case p.Boundary == "redis: before writing":
		e.Kind, e.What = lab.AsksStore, strings.Join(p.Sent, "; ")
	case len(p.Sent) > 0:
		e.Kind, e.What = lab.Statement, strings.Join(p.Sent, "; ")
	case p.Boundary == bankCalled:
		e.Kind = lab.CallsBank
	case p.Boundary == bankAnswered && p.Failed:
		e.Kind = lab.BankSilent
	case p.Boundary == bankAnswered:
		e.Kind = lab.BankAnswers
	case p.Boundary == "client: before writing the response":
		e.Kind = lab.Answers
	default:
		return e, false
	}
	return e, true
}
