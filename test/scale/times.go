package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// pages are what is asked for. $name is an id, from the first list that has one.
var pages = []string{
	"/v1/charges?limit=10", "/v1/charges?limit=100", "/v1/charges?limit=10&starting_after=$charge",
	"/v1/charges?limit=10&ending_before=$charge",
	"/v1/charges?created[lte]=$past", "/v1/charges?created[gte]=$past&limit=10", "/v1/charges?customer=$customer",
	"/v1/charges?payment_intent=$intent",
	"/v1/charges?limit=100&expand[]=data.customer&expand[]=data.balance_transaction&expand[]=data.payment_intent",
	"/v1/charges/search?query=amount:2000", "/v1/charges/search?query=metadata['order']:'6735'",
	"/v1/charges/search?query=metadata['order']:'nothing'",
	"/v1/charges/search?query=payment_method_details.card.last4:'0005'", "/v1/charges/search?query=status:'failed'",
	"/v1/charges/$charge", "/v1/charges/$charge?expand[]=balance_transaction", "/v1/charges/$charge/refunds",
	"/v1/balance", "/v1/balance_transactions?limit=10", "/v1/balance_transactions?limit=100",
	"/v1/balance_transactions?type=refund",
	"/v1/balance_transactions?created[lte]=$past", "/v1/balance_transactions?source=$charge",
	"/v1/customers?limit=10", "/v1/customers?email=nobody@example.com", "/v1/customers?created[lte]=$past",
	"/v1/customers/search?query=email~'nobody'", "/v1/customers/search?query=name:'Jenny Rosen'",
	"/v1/customers/search?query=name~'Nobody'",
	"/v1/customers/$customer/payment_methods",
	"/v1/payment_intents?limit=10", "/v1/payment_intents?customer=$customer",
	"/v1/payment_intents?limit=100&expand[]=data.latest_charge",
	"/v1/payment_intents/search?query=status:'canceled'",
	"/v1/payment_intents/search?query=metadata['order']:'nothing'",
	"/v1/refunds?limit=10", "/v1/refunds?charge=$charge", "/v1/disputes?limit=10", "/v1/disputes?charge=$charge",
	"/v1/payouts?limit=10", "/v1/payouts?status=paid",
	"/v1/payouts?arrival_date[lte]=$past", "/v1/events?limit=10", "/v1/events?type=charge.refunded",
	"/v1/events?type=account.updated", "/v1/events?delivery_success=false",
	"/v1/events?created[lte]=$past", "/v1/setup_intents?limit=10", "/v1/setup_attempts?setup_intent=$setup",
	"/v1/products?limit=10", "/v1/products?active=false", "/v1/prices?limit=10", "/v1/prices?product=$product",
	"/v1/products/search?query=name~'Nothing'", "/v1/coupons?limit=10", "/v1/shipping_rates?active=false",
	"/v1/prices/search?query=active:'false'", "/v1/checkout/sessions?limit=10",
	"/v1/checkout/sessions?payment_intent=$intent", "/v1/webhook_endpoints",

	"/dashboard", "/dashboard?days=90", "/dashboard/charts?days=90",
	"/dashboard/payments", "/dashboard/payments?state=failed", "/dashboard/payments?state=refunded",
	"/dashboard/payments?last4=0005&state=succeeded", "/dashboard/payments?last4=9999",
	"/dashboard/payments?min=1000000",
	"/dashboard/payments?brand=amex", "/dashboard/payments?customer=nobody@example.com",
	"/dashboard/payments/$charge", "/dashboard/payments/$intent",
	"/dashboard/payments.csv", "/dashboard/requests", "/dashboard/requests?status=500", "/dashboard/customers",
	"/dashboard/customers?q=nobody",
	"/dashboard/customers/$customer", "/dashboard/balance", "/dashboard/balance?type=refund",
	"/dashboard/checkout", "/dashboard/checkout?state=expired", "/dashboard/emails", "/dashboard/activity",
	"/dashboard/links", "/dashboard/products", "/dashboard/products/$product", "/dashboard/prices/$price",
	"/dashboard/new/payment", "/dashboard/new/payment-link", "/dashboard/new/payout",
	"/dashboard/disputes", "/dashboard/disputes?state=won", "/dashboard/disputes/$dispute",
	"/dashboard/payouts", "/dashboard/payouts/$payout",
	"/dashboard/clock", "/dashboard/ledger", "/dashboard/ledger?account=merchant_balance", "/dashboard/events",
	"/dashboard/events?type=charge.refunded",
	"/dashboard/webhooks", "/dashboard/webhooks/$endpoint", "/dashboard/idempotency", "/dashboard/keys",
	"/dashboard/processes", "/dashboard/search?q=$charge",
	"/dashboard/search?q=nobody@example.com", "/dashboard/search?q=nothing", "/dashboard/search?q=4242",
	"/dashboard/search?q=20.00", "/dashboard/search?q=jenny",
}

// lists are where ids come from: not the newest, which is in memory anyway.
var lists = map[string]string{
	"$charge": "/v1/charges", "$customer": "/v1/customers", "$intent": "/v1/payment_intents", "$payout": "/v1/payouts",
	"$setup": "/v1/setup_intents", "$dispute": "/v1/disputes",
	"$product": "/v1/products", "$price": "/v1/prices", "$endpoint": "/v1/webhook_endpoints",
}

// times prints how long everything takes. Nothing is decided by it.
func (i *installation) times(ctx context.Context) error {
	if listStatements {
		if err := i.maintain(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements"); err != nil {
			return err
		}
		if err := i.maintain(ctx, "SELECT pg_stat_statements_reset()"); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := i.Run(ctx); err != nil {
		return err
	}
	fmt.Printf("start-up: %s until the API answers\n", time.Since(began).Round(time.Millisecond))
	replacements := []string{"$past", strconv.FormatInt(time.Now().Add(-span/2).Unix(), 10)}
	for name, list := range lists {
		id, err := i.lastOf(ctx, list)
		if err != nil {
			return err
		}
		replacements = append(replacements, name, id)
	}
	names := strings.NewReplacer(replacements...)
	fmt.Printf("%-110s %10s %10s\n", "page", "first byte", "ms")
	for _, page := range pages {
		if err := i.timePage(ctx, page, names); err != nil {
			return err
		}
	}
	if err := i.timePayout(); err != nil {
		return err
	}
	fmt.Printf("resident memory: serve %d MB, work %d MB\n", i.resident("serve")>>20, i.resident("work")>>20)
	if err := i.rounds(ctx); err != nil || !listStatements {
		return err
	}
	return i.slowest(ctx)
}

const slowestStatements = `
	SELECT calls, mean_exec_time, max_exec_time, left(regexp_replace(query, '\s+', ' ', 'g'), 160)
	FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
	ORDER BY mean_exec_time DESC LIMIT 10`

// slowest prints the statements that took longest on average while pages and rounds were timed.
func (i *installation) slowest(ctx context.Context) error {
	rows, err := i.Pool.Query(ctx, slowestStatements)
	if err != nil {
		return fmt.Errorf("read pg_stat_statements: %w", err)
	}
	fmt.Printf("%8s %10s %10s  %s\n", "calls", "mean ms", "max ms", "statement")
	var calls int64
	var mean, longest float64
	var statement string
	_, err = pgx.ForEachRow(rows, []any{&calls, &mean, &longest, &statement}, func() error {
		fmt.Printf("%8d %10.1f %10.1f  %s\n", calls, mean, longest, statement)
		return nil
	})
	return err
}

func (i *installation) lastOf(ctx context.Context, list string) (string, error) {
	_, _, body, err := i.get(ctx, list+"?limit=10")
	if err != nil {
		return "", err
	}
	var found struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(body, &found); err != nil || len(found.Data) == 0 {
		return "", fmt.Errorf("%s: %w: %.200s", list, err, body)
	}
	return found.Data[len(found.Data)-1].ID, nil
}

// looks is how often a page is asked for; the median counts.
const looks = 3

func (i *installation) timePage(ctx context.Context, page string, names *strings.Replacer) error {
	var first, all []time.Duration
	wrong := ""
	for range looks {
		f, a, _, err := i.get(ctx, names.Replace(page))
		if err != nil {
			wrong = err.Error()
		}
		first, all = append(first, f), append(all, a)
	}
	slices.Sort(first)
	slices.Sort(all)
	fmt.Printf("%-110s %10.1f %10.1f %s\n", page, ms(first[looks/2]), ms(all[looks/2]), wrong)
	return ctx.Err()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// get asks for a page and says when its first byte was there and when all of it.
func (i *installation) get(ctx context.Context, page string) (first, all time.Duration, body []byte, err error) {
	where, query, _ := strings.Cut(page, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return 0, 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+i.Addr+where+"?"+values.Encode(), nil)
	if err != nil {
		return 0, 0, nil, err
	}
	if strings.HasPrefix(page, "/v1/") {
		request.Header.Set("Authorization", "Bearer "+i.story.key)
	}
	began := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, nil, err
	}
	defer response.Body.Close()
	first = time.Since(began)
	body, err = io.ReadAll(response.Body)
	all = time.Since(began)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.120s", response.Status, body)
	}
	return first, all, body, err
}

func (i *installation) timePayout() error {
	began := time.Now()
	if _, err := i.story.post("/v1/payouts", "amount=100&currency=usd"); err != nil {
		return err
	}
	fmt.Printf("%-110s %10s %10.1f\n", "POST /v1/payouts", "", ms(time.Since(began)))
	return nil
}

func (i *installation) resident(part string) int64 {
	text, err := os.ReadFile(path.Join("/proc", strconv.Itoa(i.PID(part)), "statm"))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

var roundTime = regexp.MustCompile(
	`(?m)^ratchet_worker_round_duration_seconds_(sum|count)\{outcome="([a-z]+)",part="([^"]+)"\} (\S+)$`)

// roundsLast is how long the worker is watched: every part but the hourly ones has
// had its turn by then, verify as the last of them.
const roundsLast = 75 * time.Second

// rounds prints how long the worker's parts took for a round, the gauges among them.
func (i *installation) rounds(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(roundsLast):
	}
	response, err := http.Get("http://" + i.MetricsAddr["work"] + "/metrics")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	of := map[string][2]float64{} // sum and count
	for _, m := range roundTime.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.ParseFloat(m[4], 64)
		both := of[m[3]+", "+m[2]]
		both[map[string]int{"sum": 0, "count": 1}[m[1]]] = n
		of[m[3]+", "+m[2]] = both
	}
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Printf("%-60s %8s %10s\n", "round of the worker", "rounds", "ms")
	for _, name := range names {
		fmt.Printf("%-60s %8.0f %10.1f\n", name, of[name][1], 1000*of[name][0]/of[name][1])
	}
	return nil
}
