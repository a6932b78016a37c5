package api_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/apitest"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/testapp"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// env is an API over real HTTP, a database and its own acquirer, and two
// merchants.
type env struct {
	db      *pgtest.DB
	config  process.Config
	process *process.API
	server  *httptest.Server
	sim     *acquirertest.Sim
	log     *testapp.Log
	app     *testapp.App
	keys    map[string]string // by whose they are: "toboggans", "toboggans live", "kites"
}

func newEnv(t *testing.T, changes ...func(*process.Config)) *env {
	t.Helper()
	app := testapp.New(t, append([]func(*process.Config){testapp.Notified}, changes...)...)
	s := &env{db: app.DB, config: app.Config, process: app.API, server: app.Server, sim: app.Sim, log: app.Log,
		app: app, keys: map[string]string{}}
	s.keys["toboggans"] = app.Open(t, "acct_toboggans", "Toboggans")
	s.keys["toboggans live"] = s.newKey(t, "acct_toboggans", apikey.Secret, true)
	s.keys["toboggans publishable"] = s.newKey(t, "acct_toboggans", apikey.Publishable, false)
	s.keys["toboggans revoked"] = s.newKey(t, "acct_toboggans", apikey.Secret, false)
	s.keys["kites"] = app.Open(t, "acct_kites", "Kites")
	s.exec(t, `
		UPDATE api_keys SET expires_at = now() WHERE right(display, 4) = right($1, 4)`, s.keys["toboggans revoked"])
	return s
}

func (s *env) newKey(t *testing.T, account, kind string, livemode bool) string {
	t.Helper()
	return s.app.NewKey(t, account, kind, livemode)
}

func (s *env) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	s.app.Exec(t, sql, args...)
}

// requests counts the keys that are taken, those we make up for the caller too.
func (s *env) requests(t *testing.T) (count int) {
	t.Helper()
	err := s.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM requests`).Scan(&count)
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// rows counts what every table holds but those in which processes say that they
// live. It is the catalog that lists them, so no table is forgotten.
func (s *env) rows(t *testing.T) map[string]int64 {
	t.Helper()
	const everyTable = `
		SELECT n.nspname || '.' || t.relname,
		       (xpath('/row/count/text()',
		           query_to_xml(format('SELECT count(*) FROM %I.%I', n.nspname, t.relname), false, true,
		               '')))[1]::text::bigint
		FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
		WHERE n.nspname IN ('public', 'river') AND t.relkind IN ('r', 'p') AND NOT t.relispartition
		  AND t.relname NOT IN ('workers', 'river_client', 'river_client_queue', 'river_leader', 'river_queue')`
	rows, err := s.db.Pool.Query(t.Context(), everyTable)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	var table string
	var count int64
	_, err = pgx.ForEachRow(rows, []any{&table, &count}, func() error { counts[table] = count; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if counts["public.requests"] == 0 || len(counts) < 25 {
		t.Fatalf("the tables were not counted: %v", counts)
	}
	return counts
}

// sent is a request. Its zero value asks for nothing, as the toboggans.
type sent struct {
	as     string // whose key; "toboggans" if ""
	method string // POST if ""
	target string // with the query, escaped
	body   string
	header http.Header // replaces what is in it; a name with no values is not sent

	repeats bool // the answer is to have a card number in it, which the contract does not allow
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	object map[string]any
	fault  fault
}

type fault struct{ Type, Code, Param, Message string }

// ask sends a request whose answer is held to the contract.
func (s *env) ask(t *testing.T, r sent) answer {
	t.Helper()
	if r.method == "" {
		r.method = http.MethodPost
	}
	if r.as == "" {
		r.as = "toboggans"
	}
	request, err := http.NewRequestWithContext(t.Context(), r.method, s.server.URL+r.target, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.keys[r.as])
	if r.body != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	maps.Copy(request.Header, r.header)
	transport := s.server.Client().Transport
	if !r.repeats {
		transport = apitest.Checked(t, transport)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, response)
}

func readAnswer(t *testing.T, response *http.Response) answer {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, body: body}
	err = json.Unmarshal(body, &a.object)
	if err != nil {
		t.Fatalf("the answer %d is no JSON object: %q", a.status, body)
	}
	var envelope struct{ Error fault }
	err = json.Unmarshal(body, &envelope)
	if err != nil {
		t.Fatalf("the error is not readable: %v: %s", err, body)
	}
	a.fault = envelope.Error
	return a
}

// make asks for something that has to succeed and returns its id.
func (s *env) make(t *testing.T, as, target, body string) string {
	t.Helper()
	a := s.ask(t, sent{as: as, target: target, body: body})
	name, _ := a.object["id"].(string)
	if a.status != http.StatusOK || name == "" {
		t.Fatalf("POST %s %s: %d %s", target, body, a.status, a.body)
	}
	return name
}

// number is a test card's. This is how a test gets at one: none is written down.
func number(t *testing.T, name string) string {
	t.Helper()
	card, known := testcard.ByName(name)
	if !known {
		t.Fatalf("there is no test card %q", name)
	}
	return card.Number()
}
