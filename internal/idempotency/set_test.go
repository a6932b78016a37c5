package idempotency

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// TestSets is about statements with several members: one statement claims, advances
// or finishes many requests, all of them or none.
func TestSets(t *testing.T) {
	t.Parallel()

	t.Run("three requests are claimed, advanced and finished by one statement each", func(t *testing.T) {
		t.Parallel()
		s := newSet(t, 3)
		s.accepts(claim(false, s.members("", "recorded")...))
		s.accepts(advance(s.members("recorded", "paid")...))
		s.accepts(finish(s.members("paid", "delivered")...))
		s.want(3, `
			SELECT count(*) FROM answers
			WHERE recovery_points = '{recorded,paid,delivered}' AND cardinality(reached_at) = 3
			  AND reached_epochs = '{1,1,1}'`)
		s.want(3, `
			SELECT count(*) FROM answers
			WHERE call_phases = '{paid}' AND call_keys[1] = 'key of ' || request_id
			  AND body = convert_to(request_id, 'UTF8')`)
		s.want(0, "SELECT count(*) FROM runs")
	})

	t.Run("requests of one step are answered as they are claimed", func(t *testing.T) {
		t.Parallel()
		s := newSet(t, 3)
		s.accepts(claim(true, s.members("", "recorded")...))
		s.want(3, "SELECT count(*) FROM answers WHERE recovery_points = '{recorded}'")
		s.want(0, "SELECT count(*) FROM runs")
	})

	t.Run("if one member was overtaken, nothing happens to the others", func(t *testing.T) {
		t.Parallel()
		s := newSet(t, 3)
		s.accepts(claim(false, s.members("", "recorded")...))
		if _, err := s.pool.Exec(t.Context(), "UPDATE runs SET epoch = 2 WHERE request_id = 'req_1'"); err != nil {
			t.Fatal(err)
		}
		s.refuses(advance(s.members("recorded", "paid")...), FenceCode)
		s.refuses(finish(s.members("recorded", "paid")...), FenceCode)
		s.want(3, "SELECT count(*) FROM runs WHERE recovery_points = '{recorded}'")
	})

	t.Run("one key twice in a set claims nothing", func(t *testing.T) {
		t.Parallel()
		s := newSet(t, 3)
		s.requests[2].Key = s.requests[0].Key
		s.refuses(claim(false, s.members("", "recorded")...), "23505")
		s.want(0, "SELECT count(*) FROM requests")
	})

	t.Run("one request twice in a set moves nothing, though an UPDATE alone would apply one of the two", func(t *testing.T) {
		t.Parallel()
		s := newSet(t, 2)
		s.accepts(claim(false, s.members("", "recorded")...))
		s.requests[1] = s.requests[0]
		s.refuses(advance(s.members("recorded", "paid")...), FenceCode)
		s.refuses(finish(s.members("recorded", "paid")...), FenceCode)
		s.want(2, "SELECT count(*) FROM runs WHERE recovery_points = '{recorded}'")
	})

	t.Run("names with quotes, braces and commas arrive as they are", func(t *testing.T) {
		t.Parallel()
		s := newSet(t, 1)
		for _, list := range [][]string{nil, {""}, {"a,b", `c"d`, `e\f`, "{g}", "NULL", " h "}} {
			var back []string
			err := s.pool.QueryRow(t.Context(), "SELECT $1::text::text[]", postgres.TextArray(list)).Scan(&back)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%q", back) != fmt.Sprintf("%q", append([]string{}, list...)) {
				t.Errorf("%q came back as %q", list, back)
			}
		}
	})

	// A plan is kept for the life of a session, and may be made while the tables are empty.
	t.Run("no set reads a table from end to end, however empty it is when the statement is planned", func(t *testing.T) {
		t.Parallel()
		s := newSet(t, 2)
		const committer = `
			SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
			SET LOCAL plan_cache_mode = force_generic_plan`
		for name, statement := range map[string]Statement{
			"claim":            claim(false, s.members("", "recorded")...),
			"claim and finish": claim(true, s.members("", "recorded")...),
			"advance":          advance(s.members("recorded", "paid")...),
			"finish":           finish(s.members("recorded", "paid")...),
		} {
			err := pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), committer); err != nil {
					return err
				}
				rows, err := tx.Query(t.Context(), "EXPLAIN "+statement.SQL, statement.Args)
				if err != nil {
					return err
				}
				plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
				if err == nil && strings.Contains(strings.Join(plan, "\n"), "Seq Scan") {
					t.Errorf("%s:\n%s", name, strings.Join(plan, "\n"))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// set is some requests of one account.
type set struct {
	t        *testing.T
	pool     *pgxpool.Pool
	requests []*Request
}

func newSet(t *testing.T, n int) *set {
	t.Helper()
	s := &set{t: t, pool: pgtest.New(t).Pool}
	_, err := s.pool.Exec(t.Context(), `
		INSERT INTO flows VALUES ('order.buy', 1, 'digest');
		INSERT INTO recovery_points
		VALUES ('order.buy', 1, 'recorded', 1, 'atomic'), ('order.buy', 1, 'paid', 2, 'foreign'),
			('order.buy', 1, 'delivered', 3, 'atomic')`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		id := fmt.Sprintf("req_%d", i)
		s.requests = append(s.requests, &Request{
			AccountID:          "acct_1",
			ID:                 id,
			Key:                "k" + id,
			Method:             "POST",
			Path:               "/v1/orders",
			Fingerprint:        []byte{1},
			FingerprintVersion: 1,
			Params:             json.RawMessage(`{"note":"a \"quoted\" one, {and} more"}`),
			Flow:               "order.buy",
			Version:            1,
			Epoch:              1,
		})
	}
	return s
}

func (s *set) members(from, to string) (members []member) {
	for _, r := range s.requests {
		step := &Step{From: from, Points: []string{to}, StateData: json.RawMessage(`{}`), Owner: "wk_1",
			Finish: &StoredResponse{
				Status:   200,
				Headers:  map[string]string{},
				Body:     []byte(r.ID),
				ObjectID: "or_" + r.ID,
			}}
		if to == "recorded" {
			step.Calls = []ForeignCall{{Phase: "paid", Generation: 1, Key: "key of " + r.ID}}
		}
		members = append(members, member{r, step, time.Now()})
	}
	return members
}

func (s *set) accepts(statement Statement) {
	s.t.Helper()
	if _, err := s.pool.Exec(s.t.Context(), statement.SQL, statement.Args); err != nil {
		s.t.Fatal(err)
	}
}

func (s *set) refuses(statement Statement, code string) {
	s.t.Helper()
	if _, err := s.pool.Exec(s.t.Context(), statement.SQL, statement.Args); postgres.Code(err) != code {
		s.t.Errorf("the statement ends with %v, want %s", err, code)
	}
}

func (s *set) want(want int, sql string) {
	s.t.Helper()
	var got int
	if err := s.pool.QueryRow(s.t.Context(), sql).Scan(&got); err != nil {
		s.t.Fatal(err)
	}
	if got != want {
		s.t.Errorf("%d, want %d: %s", got, want, sql)
	}
}

// The bounds stand in the SQL as texts, because a statement is a constant.
func TestWhatIsBelievedIsWhatIsSet(t *testing.T) {
	t.Parallel()
	for sql, bound := range map[string]string{
		Alive:       fmt.Sprintf("'%d s'", AliveFor/time.Second),
		IsExecuting: fmt.Sprintf("'%d s'", LeaseTime/time.Second),
		Due:         fmt.Sprintf("'%d min'", LongestWait/time.Minute),

		leaseFromNow: fmt.Sprintf("'%d s'", LeaseTime/time.Second),
	} {
		if !strings.Contains(sql, bound) {
			t.Errorf("%s does not compare with %s", sql, bound)
		}
	}
}
