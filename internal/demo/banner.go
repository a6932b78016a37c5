package demo

import (
	"fmt"
	"net"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/id"
)

// banner prints where everything is and what to try first. The idempotency keys
// in it are new in every run: those of the last one would replay its answers.
func (d *demo) banner() {
	run := strings.ToLower(id.Random(4))
	charge := func(key string, more ...string) string {
		lines := []string{
			"curl -i " + d.base + "/v1/charges -u " + merchants[0].secret + ":",
			"-H 'Idempotency-Key: " + key + "'",
			"-d amount=2000 -d currency=usd -d source=tok_visa",
		}
		return strings.Join(append(lines, more...), " \\\n       ")
	}
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("")
	p("  Ratchet is running. Open %s in a browser. Test cards only: no real money can move.", d.base)
	p("")
	p("    API        %s", d.base)
	if public := d.publicURL(); public != "" {
		p("               %s  (from other machines; --public-url changes it)", public)
	}
	p("    shop       %s/shop", d.base)
	p("    lab        %s/lab  (seven questions: how often is the card charged?)", d.base)
	p("    dashboard  %s/", d.base)
	if d.password != "" {
		p("               password %s", d.password)
	}
	for i, m := range merchants {
		label := ""
		if i == 0 {
			label = "keys"
		}
		p("    %-9s  %-22s %-22s  %s", label, m.secret, m.publishable, m.name)
	}
	p("    database   %s  (PostgreSQL %s)", public(d.books.ratchet), d.server.Version)
	p("    metrics    http://%s/metrics  (of serve; of work: http://%s/metrics)", d.metricsAddrs["serve"],
		d.metricsAddrs["work"])
	p("    data       %s  (logs in %s)", d.dir.path, d.dir.logs())
	p("")
	p("    pid        process")
	p("    %-9d  serve      the API server", d.serve.pid.Load())
	p("    %-9d  work       finishes interrupted requests, delivers webhooks", d.work.pid.Load())
	p("    %-9d  shop       a merchant that sells mugs through the API", d.shop.pid.Load())
	p("    %-9d  acquirer   the simulated acquirer, which charges the cards", d.acquirer.pid.Load())
	if pid := d.server.PID(); pid != 0 {
		p("    %-9d  postgres   the database", pid)
	}
	p("    Kill any of them; it comes back, and nothing is charged twice or lost.")
	p("")
	p("  Buy a mug at %s/shop with card 4242 4242 4242 4242, any future expiry, any CVC.", d.base)
	p("  While the card is charged: kill -9 %d. The order is paid once, and shows how it recovered.",
		d.serve.pid.Load())
	p("")
	p("  Three things to try in another terminal:")
	p("")
	p("  1. Charge a card.")
	p("")
	p("     %s", charge("first-"+run))
	p("")
	p("  2. Send it again. The response is the same, byte for byte, with the header")
	p("     Idempotent-Replayed: true, and the card is not charged again.")
	p("")
	p("  3. Kill the server in the middle of a slow payment, and retry.")
	p("")
	p("     (sleep 2; kill -9 %d) &", d.serve.pid.Load())
	p("     %s", charge("second-"+run, "-H 'Acquirer-Fault: slow:5000'"))
	p("")
	p("     The connection breaks. Send the same curl again a second later: you get the charge.")
	p("")
	p("  How often was the card charged? Ask the acquirer, not us:")
	p("")
	p("     %s acquirer journal", d.command())
	p("")
	p("  Look at the tables: requests, runs, answers, ledger_postings, audit_events, …")
	p("")
	p("     . %s && psql \"$RATCHET_DATABASE_URL\"", environFile(d.dir.path))
	p("")
	p("  Ctrl-C stops everything. The data stays.")
	p("")
	d.console.begin(b.String())
}

// command calls this program so that it finds this demo.
func (d *demo) command() string {
	if d.dir.path == DefaultDataDir() {
		return d.Program
	}
	return "RATCHET_DATA_DIR=" + d.dir.path + " " + d.Program
}

func (d *demo) farewell() {
	if d.DatabaseURL != "" {
		d.console.print("\n  Stopped. The data stays in " + public(d.books.ratchet) + ".\n")
		return
	}
	d.console.print("\n  Stopped. The data stays in " + d.dir.path + "; " + d.startOver() + " deletes it.\n")
}

// startOver is the command that begins with new data, as the reader has called this one.
func (d *demo) startOver() string {
	if strings.HasPrefix(d.Program, "go run ") {
		return "make demo ARGS=--fresh"
	}
	return d.Program + " demo --fresh"
}

// publicURL is where other machines find the API, and "" where only this one does. The API
// answers to no other name.
func (d *demo) publicURL() string {
	address, err := net.ResolveTCPAddr("tcp", d.Addr)
	switch {
	case d.PublicURL != "":
		return d.PublicURL
	case err != nil || address.IP.IsLoopback():
		return ""
	case !address.IP.IsUnspecified():
		return d.base
	}
	interfaces, _ := net.InterfaceAddrs()
	for _, a := range interfaces {
		network, is := a.(*net.IPNet)
		if is && network.IP.IsGlobalUnicast() && network.IP.To4() != nil {
			return fmt.Sprintf("http://%s:%d", network.IP, address.Port)
		}
	}
	return d.base
}
