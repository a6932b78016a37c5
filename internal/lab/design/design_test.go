package design_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/design"
	"github.com/ratchet-pay/ratchet/internal/lab/redis"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// parts returns what the designs are made of, each with a pool in its own schema.
func parts(t *testing.T) (of func(name string) design.Parts, bank *acquirertest.Sim) {
	t.Helper()
	db := pgtest.New(t)
	if err := design.CreateSchemas(t.Context(), db.Pool); err != nil {
		t.Fatal(err)
	}
	bank = acquirertest.Start(t, pgtest.New(t).URL)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { _ = redis.NewStandIn().Serve(l) }() // ends with the listener
	return func(name string) design.Parts {
		address, err := design.SchemaURL(db.URL, name)
		if err != nil {
			t.Fatal(err)
		}
		pool, err := pgxpool.New(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		return design.Parts{
			DB:    pool,
			Bank:  design.NewBank(bank.URL(), bank.Secret(), time.Minute, nil),
			Redis: redis.NewClient(l.Addr().String(), nil),
		}
	}, bank
}

func pay(t *testing.T, h http.Handler, key, body string) (status int, answer string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/pay", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Where nothing goes wrong, each design does what its author wanted.
func TestDesigns(t *testing.T) {
	t.Parallel()
	of, bank := parts(t)
	for i, d := range lab.Designs {
		if d.Name == "ratchet" || d.Queue {
			continue // no handler of a request
		}
		p := of(d.Name)
		h, err := design.New(d.Name, p)
		if err != nil {
			t.Fatal(err)
		}
		order := int64(i + 1)
		body := strings.Replace(`{"order": N, "amount": 2000}`, "N", strconv.FormatInt(order, 10), 1)
		key := d.Name

		t.Run(d.Name+" charges an order and books it", func(t *testing.T) {
			status, answer := pay(t, h, key, body)
			if status != http.StatusOK || !strings.Contains(answer, `"status":"paid"`) {
				t.Fatalf("%d %s", status, answer)
			}
			if n, err := design.Count(t.Context(), p.DB, order); err != nil || n != 1 {
				t.Errorf("booked %d times, %v", n, err)
			}
		})
		if d.Name == "naive" {
			continue // it knows no keys
		}
		t.Run(d.Name+" answers a repeated request with the first answer, and books nothing", func(t *testing.T) {
			_, again := pay(t, h, key, body)
			_, third := pay(t, h, key, body)
			if strings.TrimSpace(again) != strings.TrimSpace(third) || !strings.Contains(again, `"status":"paid"`) {
				t.Errorf("%s, then %s", again, third)
			}
			if n, err := design.Count(t.Context(), p.DB, order); err != nil || n != 1 {
				t.Errorf("booked %d times, %v", n, err)
			}
		})
		if strings.HasPrefix(d.Name, "redis") {
			continue // the middleware does not look at the request
		}
		t.Run(d.Name+" refuses the key for another request", func(t *testing.T) {
			status, answer := pay(t, h, key, strings.Replace(body, "2000", "1", 1))
			if status != http.StatusUnprocessableEntity {
				t.Errorf("%d %s", status, answer)
			}
		})
	}

	t.Run("each charges for a merchant that no other design charges for", func(t *testing.T) {
		all, err := bank.Client().Authorizations(t.Context(), time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		sales := map[string]int{}
		for _, a := range all {
			sales[a.Merchant]++
		}
		for _, d := range lab.Designs {
			if want := d.Name != "ratchet" && !d.Queue; want && sales["acct_lab_"+d.Name] != 1 {
				t.Errorf("%s: %v", d.Name, sales)
			}
		}
	})

	t.Run("each books in a schema that no other design books in", func(t *testing.T) {
		for i, d := range lab.Designs {
			if design.Schema(d.Name) == "" || d.Queue {
				continue
			}
			for other := range lab.Designs {
				n, err := design.Count(t.Context(), of(d.Name).DB, int64(other+1))
				if want := map[bool]int{true: 1}[other == i]; err != nil || n != want {
					t.Errorf("%s has booked order %d %d times, %v", d.Name, other+1, n, err)
				}
			}
		}
	})

	t.Run("manager ignores spaces and the order of fields when it compares bodies", func(t *testing.T) {
		h, err := design.New("manager", of("manager"))
		if err != nil {
			t.Fatal(err)
		}
		_, first := pay(t, h, "sorted", `{"order": 99, "amount": 2000}`)
		status, again := pay(t, h, "sorted", `{"amount":2000,"order":99}`)
		if status != http.StatusOK || strings.TrimSpace(first) != strings.TrimSpace(again) {
			t.Errorf("%d %s, want %s", status, again, first)
		}
	})
}
