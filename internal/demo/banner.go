package demo

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/id"
)

// banner prints where everything is and what to try first.
func (d *demo) banner() {
	var b lines
	b.add("")
	b.add("  Ratchet is running. Open %s in a browser. Test cards only: no real money can move.", d.base)
	b.add("")
	d.addAddresses(&b)
	b.add("")
	d.addProcesses(&b)
	b.add("")
	b.add("  Buy a mug at %s/shop with card 4242 4242 4242 4242, any future expiry, any CVC.", d.base)
	b.add("  While the card is charged: kill -9 %d. The order is paid once, and shows how it recovered.",
		d.serve.pid.Load())
	b.add("")
	d.addExercises(&b)
	b.add("")
	b.add("  How often was the card charged? Ask the acquirer, not us:")
	b.add("")
	b.add("     %s acquirer journal", d.command())
	b.add("")
	b.add("  Look at the tables: requests, runs, answers, ledger_postings, audit_events, …")
	b.add("")
	b.add("     . %s && psql \"$RATCHET_DATABASE_URL\"", environFile(d.dir.path))
	b.add("")
	b.add("  Ctrl-C stops everything. The data stays.")
	b.add("")
	d.console.begin(b.String())
}

// lines is a text that is written line by line.
type lines struct{ strings.Builder }

func (l *lines) add(format string, args ...any) { fmt.Fprintf(l, format+"\n", args...) }

// addAddresses lists where each part answers, and the keys to it.
func (d *demo) addAddresses(b *lines) {
	b.add("    API        %s", d.base)
	if public := d.publicURL(); public != "" {
		b.add("               %s  (from other machines; --public-url changes it)", public)
	}
	b.add("    shop       %s/shop", d.base)
	b.add("    lab        %s/lab  (seven questions: how often is the card charged?)", d.base)
	b.add("    dashboard  %s/", d.base)
	if d.password != "" {
		b.add("               password %s", d.password)
	}
	for i, m := range merchants {
		label := ""
		if i == 0 {
			label = "keys"
		}
		b.add("    %-9s  %-22s %-22s  %s", label, m.secret, m.publishable, m.name)
	}
	b.add("    database   %s  (PostgreSQL %s)", public(d.books.ratchet), d.server.Version)
	b.add("    metrics    http://%s/metrics  (of serve; of work: http://%s/metrics)", d.metricsAddrs["serve"],
		d.metricsAddrs["work"])
	b.add("    data       %s  (logs in %s)", d.dir.path, d.dir.logs())
}

// addProcesses lists the processes that a reader may kill.
func (d *demo) addProcesses(b *lines) {
	b.add("    pid        process")
	b.add("    %-9d  serve      the API server", d.serve.pid.Load())
	b.add("    %-9d  work       finishes interrupted requests, delivers webhooks", d.work.pid.Load())
	b.add("    %-9d  shop       a merchant that sells mugs through the API", d.shop.pid.Load())
	b.add("    %-9d  acquirer   the simulated acquirer, which charges the cards", d.acquirer.pid.Load())
	if pid := d.server.PID(); pid != 0 {
		b.add("    %-9d  postgres   the database", pid)
	}
	b.add("    Kill any of them; it comes back, and nothing is charged twice or lost.")
}

// addExercises lists what to try in a terminal. The idempotency keys are new in every
// run: those of the last one would replay its answers.
func (d *demo) addExercises(b *lines) {
	run := strings.ToLower(id.Random(4))
	charge := func(key string, more ...string) string {
		options := []string{
			"curl -i " + d.base + "/v1/charges -u " + merchants[0].secret + ":",
			"-H 'Idempotency-Key: " + key + "'",
			"-d amount=2000 -d currency=usd -d source=tok_visa",
		}
		return strings.Join(append(options, more...), " \\\n       ")
	}
	b.add("  Three things to try in another terminal:")
	b.add("")
	b.add("  1. Charge a card.")
	b.add("")
	b.add("     %s", charge("first-"+run))
	b.add("")
	b.add("  2. Send it again. The response is the same, byte for byte, with the header")
	b.add("     Idempotent-Replayed: true, and the card is not charged again.")
	b.add("")
	b.add("  3. Kill the server in the middle of a slow payment, and retry.")
	b.add("")
	b.add("     (sleep 2; kill -9 %d) &", d.serve.pid.Load())
	b.add("     %s", charge("second-"+run, "-H 'Acquirer-Fault: slow:5000'"))
	b.add("")
	b.add("     The connection breaks. Send the same curl again a second later: you get the charge.")
}

// command calls this program so that it finds this demo.
func (d *demo) command() string {
	return d.calling(d.Program)
}

func (d *demo) calling(program string) string {
	if d.dir.path == DefaultDataDir() {
		return program
	}
	return "RATCHET_DATA_DIR=" + d.dir.path + " " + program
}

// commandAnywhere is the command for a terminal in any folder, if the program has a path.
func (d *demo) commandAnywhere() string {
	if path, err := filepath.Abs(d.Program); err == nil && strings.HasPrefix(d.Program, ".") {
		return d.calling(path)
	}
	return d.command()
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
