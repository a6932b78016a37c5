// Command neighbors measures what one merchant's load costs another: `make neighbors`.
//
// A quiet merchant charges cards, lists them and reads the balance, first alone and then beside a merchant who does the
// worst that its limits allow. The bar: the quiet one's p99 is at most three times what it is alone, and none of its
// requests is refused.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/test/deployment"
)

// bar is how many times its normal value the quiet merchant's p99 may be.
const bar = 3

type options struct {
	each      time.Duration
	rounds    int
	customers int
	clients   int
	only      string
}

func main() {
	o := options{}
	flag.DurationVar(&o.each, "each", 5*time.Second, "how long each load runs in each round")
	flag.IntVar(&o.rounds, "rounds", 3, "how often everything is measured; medians count")
	flag.IntVar(&o.customers, "customers", 100_000, "how many customers the loud merchant has")
	flag.IntVar(&o.clients, "clients", 64, "how many requests the loud merchant has under way")
	flag.StringVar(&o.only, "only", "", "one of the loads by name, such as long lists; all if empty")
	flag.Parse()
	if o.only != "" {
		loads = slices.DeleteFunc(loads, func(l load) bool { return l.name != o.only })
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "neighbors:", err)
		os.Exit(1)
	}
}

// street is where both merchants live.
type street struct {
	*deployment.Deployment
	loud, quiet string // API keys
	client      *http.Client
}

// asDelivered are the default limits, which package deployment lifts otherwise.
func asDelivered() []string {
	l := process.DefaultLimits()
	return []string{"RATCHET_KEY_RATE=" + strconv.Itoa(l.API.KeyRate),
		"RATCHET_ACCOUNT_CONCURRENCY=" + strconv.Itoa(l.API.AccountConcurrency),
		"RATCHET_MAX_ACCOUNT_WRITES=" + strconv.Itoa(l.AccountWrites)}
}

func open(ctx context.Context, o options) (s *street, err error) {
	s = &street{client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	if s.Deployment, err = deployment.Start(ctx, deployment.Options{Env: asDelivered(), ReuseWAL: true}); err != nil {
		return s, err
	}
	var account string
	if account, s.loud, err = s.OpenAccount(ctx, "Loud"); err != nil {
		return s, err
	}
	if _, s.quiet, err = s.OpenAccount(ctx, "Quiet"); err != nil {
		return s, err
	}
	if _, err := s.Pool.Exec(ctx, insertCustomers, account, o.customers); err != nil {
		return s, fmt.Errorf("insert customers: %w", err)
	}
	for more := true; more; { // the worker would do it within a minute
		if err := s.Pool.QueryRow(ctx, "SELECT search_index($1, now(), 4096)", account).Scan(&more); err != nil {
			return s, fmt.Errorf("index customers: %w", err)
		}
	}
	if _, err := s.Pool.Exec(ctx, "VACUUM (ANALYZE) customers, search_blocks"); err != nil {
		return s, err
	}
	return s, s.Run(ctx)
}

const insertCustomers = `
	INSERT INTO customers (account_id, id, livemode, request_id, name, email, description, invoice_prefix, created_at)
	SELECT $1, 'cus_' || lpad(n::text, 20, '0'), false, 'req_none', 'Customer ' || n, n || '@example.com',
	       'Comes on Fridays', lpad(n::text, 8, '0'), now() - n * interval '1 s'
	FROM generate_series(1, $2::int) n`

// load is one thing that the loud merchant does as often as it can.
type load struct {
	name string
	next func() (method, path string, form url.Values)
}

var loads = []load{
	{"searches without a hit", func() (string, string, url.Values) {
		return http.MethodGet, "/v1/customers/search?query=" + url.QueryEscape("name~'zzzzzz'"), nil
	}},
	{"long lists", func() (string, string, url.Values) {
		before := strconv.FormatInt(time.Now().Unix()-5000, 10)
		return http.MethodGet, "/v1/customers?limit=100&created[lt]=" + before, nil
	}},
	{"charges", func() (string, string, url.Values) { return http.MethodPost, "/v1/charges", aCharge() }},
	{"all of it", func() (string, string, url.Values) {
		switch rand.IntN(3) {
		case 0:
			return http.MethodGet, "/v1/customers/search?query=" + url.QueryEscape("name~'zzzzzz'"), nil
		case 1:
			return http.MethodGet, "/v1/customers?limit=100", nil
		}
		return http.MethodPost, "/v1/charges", aCharge()
	}},
}

func aCharge() url.Values {
	return url.Values{"amount": {"2000"}, "currency": {"usd"}, "source": {"tok_visa"}}
}

func (s *street) send(ctx context.Context, key, method, path string, form url.Values) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.Addr+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	request.SetBasicAuth(key, "")
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// quietDay is what the quiet merchant got.
type quietDay struct {
	took    []time.Duration
	refused []string // every response that is not 200
}

func (d quietDay) percentile(p int) time.Duration { return d.took[(len(d.took)-1)*p/100] }

// live has the quiet merchant send a request every 25 ms, whether or not the ones before were answered.
func (s *street) live(ctx context.Context, each time.Duration) (d quietDay) {
	var mu sync.Mutex
	var all sync.WaitGroup
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for n, end := 0, time.Now().Add(each); time.Now().Before(end) && ctx.Err() == nil; n++ {
		<-tick.C
		all.Go(func() {
			method, path, form := http.MethodPost, "/v1/charges", aCharge()
			switch n % 4 {
			case 1:
				method, path, form = http.MethodGet, "/v1/balance", nil
			case 2:
				method, path, form = http.MethodGet, "/v1/charges?limit=10", nil
			}
			began := time.Now()
			status, err := s.send(ctx, s.quiet, method, path, form)
			mu.Lock()
			defer mu.Unlock()
			d.took = append(d.took, time.Since(began))
			if err != nil || status != http.StatusOK {
				d.refused = append(d.refused, fmt.Sprintf("%s %s: %d %v", method, path, status, err))
			}
		})
	}
	all.Wait()
	slices.Sort(d.took)
	return d
}

// beside has the loud merchant do its worst meanwhile. It sent so many requests, of which so many succeeded.
func (s *street) beside(ctx context.Context, l load, o options) (d quietDay, asked, succeeded int) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var all sync.WaitGroup
	over := make(chan struct{})
	for range o.clients {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				method, path, form := l.next()
				status, _ := s.send(ctx, s.loud, method, path, form) // it is refused often, and tries again at once
				mu.Lock()
				asked++
				if status == http.StatusOK {
					succeeded++
				}
				mu.Unlock()
			}
		})
	}
	time.Sleep(time.Second) // until it is at full strength
	d = s.live(ctx, o.each)
	close(over)
	all.Wait()
	return d, asked, succeeded
}

// outcome is one load in one round.
type outcome struct {
	ratio       float64
	alone, with time.Duration
	p50         time.Duration
}

func run(ctx context.Context, o options) error {
	s, err := open(ctx, o)
	if s.Deployment != nil {
		defer s.Stop()
	}
	if err != nil {
		return err
	}
	s.live(ctx, 3*time.Second) // connections and plans are there from now on
	all, refused, sent := map[string][]outcome{}, []string{}, 0
	for range o.rounds {
		for _, l := range loads {
			alone := s.live(ctx, o.each) // again each time: the machine is not the same from one minute to the next
			with, asked, succeeded := s.beside(ctx, l, o)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			sent += len(with.took)
			refused = append(refused, with.refused...)
			all[l.name] = append(all[l.name], outcome{float64(with.percentile(99)) / float64(alone.percentile(99)),
				alone.percentile(99), with.percentile(99), with.percentile(50)})
			fmt.Printf("%-24s %6d of the loud one's %6d requests succeeded; the quiet p99: %7s alone, %7s beside it\n",
				l.name, succeeded, asked, millis(alone.percentile(99)), millis(with.percentile(99)))
		}
	}
	return judge(all, refused, sent)
}

// judge prints the medians, and the summary in the last line. It fails if the bar is missed.
func judge(all map[string][]outcome, refused []string, sent int) error {
	worst := outcome{}
	fmt.Printf("\n%-24s %10s %10s %10s %6s\n", "load beside it", "p99 alone", "p99", "p50", "times")
	for _, l := range loads {
		of := all[l.name]
		slices.SortFunc(of, func(a, b outcome) int { return int(1000 * (a.ratio - b.ratio)) })
		median := of[len(of)/2]
		fmt.Printf("%-24s %10s %10s %10s %6.1f\n", l.name, millis(median.alone), millis(median.with),
			millis(median.p50), median.ratio)
		if median.ratio > worst.ratio {
			worst = median
		}
	}
	for _, what := range refused {
		fmt.Println("refused:", what)
	}
	fmt.Printf("neighbors: at worst the quiet merchant's p99 is %.1f times what it is alone (%s, %s alone), and %d of "+
		"its %d requests failed\n", worst.ratio, millis(worst.with), millis(worst.alone), len(refused), sent)
	if worst.ratio > bar || len(refused) > 0 {
		return fmt.Errorf("the bar is %d times, and no failure", bar)
	}
	return nil
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
