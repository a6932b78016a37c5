//go:build unix

// Package runner runs the lab: it starts the designs as processes, kills them where
// a fault says, lets the client try again, and asks both books how it ended.
//
//	client (here) ──▶ design, a process ──▶ acquirer, a process with its own database
//	                        │
//	                        └──▶ PostgreSQL, Redis
//
// The number of charges comes from the acquirer's journal. What the design has
// booked comes from its own tables, or from the API if it is Ratchet.
package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/consumer"
	"github.com/ratchet-pay/ratchet/internal/lab/design"
)

// Config says what the lab needs.
type Config struct {
	Ratchet     string // the program ratchet
	Lab         string // the program ratchet-lab
	DatabaseURL string // a PostgreSQL server on which databases can be created
	RedisURL    string // a Redis server to use; "": one of the lab's own
	NATSURL     string // a NATS server with JetStream to use; "": one of the lab's own
	Broker      string // the program nats-server to start; "": one that is found, or compiled
	StandIn     bool   // use the stand-in for Redis even if there is a real one
}

// Check returns an error if a server that the lab was given does not respond, and one of the runs needs it. The lab
// takes seconds to open, and a wrong address should not wait for that.
func (c Config) Check(ctx context.Context, cases []lab.Case) error {
	needsRedis := func(c lab.Case) bool { return c.OnRedis() && !c.LosesStore }
	if c.RedisURL != "" && !c.StandIn && slices.ContainsFunc(cases, needsRedis) {
		if _, err := pingStore(ctx, c.RedisURL); err != nil {
			return err
		}
	}
	needsBroker := func(c lab.Case) bool { return c.Design.Queue }
	if c.NATSURL != "" && slices.ContainsFunc(cases, needsBroker) {
		conn, err := connectTo(c.NATSURL)
		if err != nil {
			return err
		}
		conn.Close()
	}
	return nil
}

// Runner is a lab that is ready. Close it.
type Runner struct {
	Config
	redis  string // the program redis-server, "" for the stand-in
	dir    string // of traces
	admin  *pgx.Conn
	names  []string // of databases that Close drops
	labURL string
	// ratchetDB is Ratchet's database, to show its tables. What it has booked is asked over its API.
	ratchetDB *pgxpool.Pool
	acquirer  *process
	reader    *process // a `ratchet serve` that is not killed, to read what Ratchet has booked
	apiKey    string
	secrets   []string
	orders    atomic.Int64

	databases    sync.Mutex // held while a database is created or dropped
	brokerOnce   sync.Mutex
	broker       *broker // nil until a run needs it
	templateOnce sync.Mutex
	template     string // the name of the database that those of the inbox are copies of
	spare        chan spareDatabase
	copying      sync.WaitGroup // of databases that are copied ahead, or dropped behind

	closingOnce sync.Mutex
	closing     []func()
}

const (
	acquirerSecret = "the secret between the lab and its acquirer"
	rootSecret     = "the secret of the lab's own installation of Ratchet"
)

// Open creates the lab's databases and starts what all runs share.
func Open(ctx context.Context, c Config) (s *Runner, err error) {
	s = &Runner{Config: c}
	if !c.StandIn {
		s.redis = RedisServer()
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "ratchet-lab-"); err != nil {
		return s, err
	}
	s.atEnd(func() { _ = os.RemoveAll(s.dir) })
	if s.admin, err = pgx.Connect(ctx, c.DatabaseURL); err != nil {
		return s, fmt.Errorf("reach database: %w", err)
	}
	s.atEnd(s.dropDatabases)
	urls := map[string]string{}
	for _, name := range []string{"lab", "acquirer", "ratchet"} {
		if urls[name], _, err = s.createDatabase(ctx, name, ""); err != nil {
			return s, err
		}
	}
	s.labURL = urls["lab"]
	if err := createSchemas(ctx, s.labURL); err != nil {
		return s, err
	}
	s.acquirer, err = start(ctx, "acquirer", c.Ratchet, []string{
		"RATCHET_ACQUIRER_DATABASE_URL=" + urls["acquirer"], "RATCHET_ACQUIRER_SECRET=" + acquirerSecret,
		"RATCHET_DEMO=1"},
		"acquirer", "--addr", "127.0.0.1:0", "--notify-url", "", "--settle-every", "0")
	if err != nil {
		return s, err
	}
	s.atEnd(s.acquirer.kill)
	return s, s.openRatchet(ctx, urls["ratchet"])
}

func createSchemas(ctx context.Context, databaseURL string) error {
	db, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer db.Close()
	return design.CreateSchemas(ctx, db)
}

// openRatchet installs Ratchet with one merchant.
func (s *Runner) openRatchet(ctx context.Context, databaseURL string) (err error) {
	s.secrets = []string{
		"RATCHET_DATABASE_URL=" + databaseURL, "RATCHET_SECRET=" + rootSecret, "RATCHET_DEMO=1",
		"RATCHET_DRAIN_GRACE_PERIOD=0s", "RATCHET_ACQUIRER_SECRET=" + acquirerSecret,
		"RATCHET_ACQUIRER_URL=http://" + s.acquirer.addr, "RATCHET_DATABASE_CONNECTIONS=4", "RATCHET_DASHBOARD=off",
		"RATCHET_METRICS_ADDR="}
	if _, err := s.command(ctx, "migrate", "up"); err != nil {
		return err
	}
	out, err := s.command(ctx, "keys", "create", "--account", "acct_lab", "--create-account", "The lab")
	if err != nil {
		return err
	}
	for word := range strings.FieldsSeq(out) {
		if strings.HasPrefix(word, "sk_test_") {
			s.apiKey = word
		}
	}
	if s.apiKey == "" {
		return errors.New("ratchet keys create printed no key")
	}
	if s.ratchetDB, err = pgxpool.New(ctx, databaseURL); err != nil {
		return err
	}
	s.atEnd(s.ratchetDB.Close)
	if s.reader, err = start(ctx, "serve", s.Ratchet, s.secrets, "serve", "--addr", "127.0.0.1:0"); err != nil {
		return err
	}
	s.atEnd(s.reader.kill)
	return nil
}

// command runs ratchet to its end and returns what it printed.
func (s *Runner) command(ctx context.Context, args ...string) (string, error) {
	return s.commandOn(ctx, "", args...)
}

// commandOn runs ratchet on another database.
func (s *Runner) commandOn(ctx context.Context, databaseURL string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.Ratchet, args...)
	cmd.Env = append(os.Environ(), s.secrets...)
	if databaseURL != "" {
		cmd.Env = append(cmd.Env, "RATCHET_DATABASE_URL="+databaseURL)
	}
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ratchet %s: %w\n%s", strings.Join(args, " "), err, complaints.String())
	}
	return out.String(), nil
}

func (s *Runner) atEnd(do func()) {
	s.closingOnce.Lock()
	defer s.closingOnce.Unlock()
	s.closing = append(s.closing, do)
}

// Close ends all processes and drops the databases.
func (s *Runner) Close() {
	for len(s.closing) > 0 {
		last := len(s.closing) - 1
		s.closing[last]()
		s.closing = s.closing[:last]
	}
}

// createDatabase creates an empty database, or a copy of another one.
func (s *Runner) createDatabase(ctx context.Context, purpose, template string) (address, name string, err error) {
	name = strings.ToLower(id.New("ratchet_lab_"+purpose, time.Now()))
	create := "CREATE DATABASE " + pgx.Identifier{name}.Sanitize()
	if template != "" {
		create += " TEMPLATE " + pgx.Identifier{template}.Sanitize()
	}
	s.databases.Lock()
	defer s.databases.Unlock()
	if _, err := s.admin.Exec(ctx, create); err != nil {
		return "", "", fmt.Errorf("create a database for the lab: %w", err)
	}
	s.names = append(s.names, name)
	u, err := url.Parse(s.DatabaseURL)
	if err != nil {
		return "", "", fmt.Errorf("read the database's address: %w", err)
	}
	u.Path = "/" + name
	return u.String(), name, nil
}

// dropDatabase drops a database, with what is still connected. If that fails, it is only
// left behind until the lab closes.
func (s *Runner) dropDatabase(ctx context.Context, name string) {
	s.databases.Lock()
	defer s.databases.Unlock()
	_, _ = s.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)")
}

func (s *Runner) dropDatabases() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	s.copying.Wait()
	for _, name := range s.names {
		s.dropDatabase(ctx, name)
	}
	_ = s.admin.Close(ctx)
}

// movement is as much of a line of the acquirer's journal as the lab needs.
type movement struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Amount int64     `json:"amount"`
}

// charges are the times at which the bank charged the card for an amount.
func (s *Runner) charges(ctx context.Context, amount int64) (times []time.Time, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.acquirer.addr+"/journal", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+acquirerSecret)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the acquirer's journal: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the acquirer's journal: %s", response.Status)
	}
	for lines := json.NewDecoder(response.Body); lines.More(); {
		var m movement
		if err := lines.Decode(&m); err != nil {
			return nil, fmt.Errorf("read the acquirer's journal: %w", err)
		}
		if m.Kind == "sale" && m.Amount == amount {
			times = append(times, m.At)
		}
	}
	return times, nil
}

// booked is how many charges the design has in its own books for the order.
func (r *run) booked(ctx context.Context) (int, error) {
	switch r.Design.Name {
	case "ratchet":
		return r.bookedByRatchet(ctx, r.order.Amount)
	case "inbox":
		return consumer.Count(ctx, r.queue.books, r.order.Order)
	}
	return design.Count(ctx, r.books, r.order.Order)
}

// bookedByRatchet counts the merchant's paid charges of an amount, over the API.
func (s *Runner) bookedByRatchet(ctx context.Context, amount int64) (n int, err error) {
	after := ""
	for {
		var page struct {
			HasMore bool `json:"has_more"`
			Data    []struct {
				ID     string `json:"id"`
				Amount int64  `json:"amount"`
				Paid   bool   `json:"paid"`
			} `json:"data"`
		}
		query := url.Values{"limit": {"100"}}
		if after != "" {
			query.Set("starting_after", after)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet,
			"http://"+s.reader.addr+"/v1/charges?"+query.Encode(), nil)
		if err != nil {
			return 0, err
		}
		request.SetBasicAuth(s.apiKey, "")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, fmt.Errorf("list the charges of Ratchet: %w", err)
		}
		err = json.NewDecoder(response.Body).Decode(&page)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("list the charges of Ratchet: %s, %w", response.Status, err)
		}
		for _, c := range page.Data {
			after = c.ID
			if c.Amount == amount && c.Paid {
				n++
			}
		}
		if !page.HasMore || len(page.Data) == 0 {
			return n, nil
		}
	}
}
