package dashboard_test

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	s.api(t, "/v1/customers", "name", "=HYPERLINK(1)", "email", "jenny@example.com", "description", "@cmd")
	s.api(t, "/v1/customers", "name", "-Sum", "description", "+1")
	charge := s.charge(t, "amount", "5000", "currency", "jpy")
	s.api(t, "/v1/refunds", "charge", charge, "amount", "1200")
	s.api(t, "/v1/products", "name", "Sledge", "default_price_data[currency]", "usd",
		"default_price_data[unit_amount]", "4050")
	file := func(t *testing.T, path string) [][]string {
		t.Helper()
		p := s.get(t, path)
		if p.status != 200 || !strings.HasPrefix(p.header.Get("Content-Type"), "text/csv") {
			t.Fatalf("%s answers %d %s", path, p.status, p.header.Get("Content-Type"))
		}
		rows, err := csv.NewReader(strings.NewReader(p.body)).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return rows
	}
	cell := func(t *testing.T, rows [][]string, row int, name string) string {
		t.Helper()
		at := slices.Index(rows[0], name)
		if at < 0 || row >= len(rows) {
			t.Fatalf("there is no %s in row %d of %v", name, row, rows)
		}
		return rows[row][at]
	}

	t.Run("every list has a link to its file, and the file has a row for every row of the list", func(t *testing.T) {
		for _, list := range []string{"payments", "customers", "payouts", "disputes", "products", "links", "checkout",
			"events", "requests", "balance"} {
			p := s.get(t, "/dashboard/"+list)
			if !strings.Contains(p.body, `href="/dashboard/`+list+`.csv"`) {
				t.Errorf("%s has no link to its file", list)
			}
			if shown, rows := len(rows(p)), file(t, "/dashboard/"+list+".csv"); len(rows)-1 != shown {
				t.Errorf("%s shows %d rows, and its file has %d", list, shown, len(rows)-1)
			}
		}
	})

	t.Run("no cell is a formula", func(t *testing.T) {
		for _, row := range file(t, "/dashboard/customers.csv") {
			for _, text := range row {
				if text != "" && strings.ContainsAny(text[:1], "=+-@") {
					t.Errorf("a cell is %q", text)
				}
			}
		}
	})

	t.Run("amounts are in major units with their currency, and in minor units", func(t *testing.T) {
		for path, want := range map[string][4]string{
			"refunds":  {"amount", "1200", "jpy", "1200"},
			"products": {"default price", "40.50", "usd", "4050"},
			"payments": {"amount", "5000", "jpy", "5000"},
		} {
			rows := file(t, "/dashboard/"+path+".csv")
			got := [4]string{want[0], cell(t, rows, 1, want[0]), cell(t, rows, 1, "currency"),
				cell(t, rows, 1, want[0]+" in minor units")}
			if got != want {
				t.Errorf("%s has %v, want %v", path, got, want)
			}
		}
	})

	t.Run("what has no price has no amount", func(t *testing.T) {
		s.api(t, "/v1/products", "name", "Gift")
		rows := file(t, "/dashboard/products.csv")
		if got := cell(t, rows, 1, "default price") + cell(t, rows, 1, "default price in minor units"); got != "" {
			t.Errorf("it costs %q", got)
		}
	})

	t.Run("a file has the filters of its list", func(t *testing.T) {
		if rows := file(t, "/dashboard/customers.csv?email=jenny%40example.com"); len(rows) != 2 {
			t.Errorf("%d rows", len(rows))
		}
		if rows := file(t, "/dashboard/requests.csv?path=/v1/refunds"); len(rows) != 2 {
			t.Errorf("%d rows", len(rows))
		}
		lines := file(t, "/dashboard/ledger.csv?account=merchant_balance&currency=jpy")
		if sum := cell(t, lines, 1, "debit less credit"); sum == "" || len(lines) < 3 {
			t.Errorf("the ledger has %v", lines)
		}
	})

	t.Run("a list longer than a page is whole, in order, and without a row twice", func(t *testing.T) {
		_, err := s.db.Pool.Exec(t.Context(), `
			INSERT INTO events (account_id, id, livemode, request_id, type, object_id, api_version, data,
				created_at)
			SELECT account_id, 'evt_bulk' || lpad(n::text, 6, '0'), livemode, request_id, 'customer.updated',
			       'cus_' || n, api_version, data, created_at
			FROM (SELECT * FROM events LIMIT 1) one CROSS JOIN generate_series(1, 2500) n`)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		last := "~"
		for _, row := range file(t, "/dashboard/events.csv?type=customer.updated")[1:] {
			if seen[row[0]] || row[0] >= last {
				t.Fatalf("%s comes after %s", row[0], last)
			}
			seen[row[0]], last = true, row[0]
		}
		if len(seen) != 2500 {
			t.Errorf("the file has %d rows, want 2500", len(seen))
		}
	})
}
