package lab_test

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/lab"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  lab.Run
		want lab.Verdict
	}{
		"charged once, booked once, and told":   {lab.Run{Charged: 1, Booked: 1, Answer: lab.Paid}, lab.Right},
		"charged once, booked once, never told": {lab.Run{Charged: 1, Booked: 1, Answer: lab.InProgress}, lab.Stuck},
		"charged, and not in our books":         {lab.Run{Charged: 1, Booked: 0, Answer: lab.Failed}, lab.Lost},
		"charged twice, booked once":            {lab.Run{Charged: 2, Booked: 1, Answer: lab.Paid}, lab.Twice},
		"not charged, and never told":           {lab.Run{Charged: 0, Booked: 0, Answer: lab.InProgress}, lab.Stuck},
		"told that it is paid, and not charged": {lab.Run{Charged: 0, Booked: 1, Answer: lab.Paid}, lab.Wrong},
		"a message gone, and nobody knows":      {lab.Run{Answer: lab.Acknowledged}, lab.Gone},
		"a message that waits for a person":     {lab.Run{Answer: lab.Aside}, lab.Right},
		"charged, and the message handled":      {lab.Run{Charged: 1, Booked: 1, Answer: lab.Acknowledged}, lab.Right},
		"charged once, booked twice":            {lab.Run{Charged: 1, Booked: 2, Answer: lab.Paid}, lab.Wrong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.run.Verdict(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()

	t.Run("is read as it was written", func(t *testing.T) {
		t.Parallel()
		recorded, err := lab.Recorded()
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		for _, r := range recorded {
			if err := r.Write(&file); err != nil {
				t.Fatal(err)
			}
		}
		read, err := lab.Read(&file)
		if err != nil || !reflect.DeepEqual(lab.Matrix(read), recorded) {
			t.Errorf("%d runs of %d, or others, %v", len(read), len(recorded), err)
		}
	})

	t.Run("is refused where it is none", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"{\"us\":1,\"kind\":\"sends\"}", "{\"design\":", "no trace"} {
			if runs, err := lab.Read(bytes.NewBufferString(text)); err == nil {
				t.Errorf("%q: %v", text, runs)
			}
		}
	})
}

func TestTraceOfOthers(t *testing.T) {
	t.Parallel()
	recorded, err := lab.Recorded()
	if err != nil {
		t.Fatal(err)
	}

	t.Run("each recorded run is one", func(t *testing.T) {
		t.Parallel()
		for _, r := range recorded {
			var file bytes.Buffer
			if err := r.Write(&file); err != nil {
				t.Fatal(err)
			}
			if read, err := lab.ReadTrace(file.String()); err != nil || !reflect.DeepEqual(read, r) {
				t.Errorf("%s, %s: %v", r.Design, r.Fault, err)
			}
		}
	})

	t.Run("is rejected if the lab cannot have written it", func(t *testing.T) {
		t.Parallel()
		const event = `{"us":1,"kind":"sends"}` + "\n"
		head := func(design, fault, more string) string {
			return `{"design":"` + design + `","fault":"` + fault + `",` + more + `"answer":"paid"}` + "\n"
		}
		for name, text := range map[string]string{
			"nothing":                    "",
			"another design":             head("best", "none", "") + event,
			"another fault":              head("naive", "fire", "") + event,
			"a fault of consumers":       head("naive", "queue-none", "") + event,
			"no events":                  head("naive", "none", ""),
			"another event":              head("naive", "none", "") + `{"us":1,"kind":"explodes"}`,
			"charges without events":     head("naive", "none", `"charged":2,`) + event,
			"a negative number of rows":  head("naive", "none", `"booked":-1,`) + event,
			"a lock that never was":      head("redis-1s", "none", `"lock_seconds":-4,`) + event,
			"two runs":                   head("naive", "none", "") + event + head("naive", "none", "") + event,
			"more than a trace can have": head("naive", "none", "") + strings.Repeat(event, 5000),
		} {
			if _, err := lab.ReadTrace(text); err == nil {
				t.Errorf("%s is taken for a trace", name)
			}
		}
	})
}

func TestEveryStepHasALineOfTheCode(t *testing.T) {
	t.Parallel()
	recorded, err := lab.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	steps := []lab.Kind{lab.Statement, lab.AsksStore, lab.CallsBank, lab.BankAnswers, lab.BankSilent, lab.Answers,
		lab.Delivered, lab.Acks}
	for _, r := range recorded {
		d, _ := lab.FindDesign(r.Design)
		if d.Name == "inbox" {
			continue // the engine's statements are in no handler
		}
		for n, e := range r.Events {
			if e.Kind == lab.Statement && strings.HasPrefix(e.What, "SELECT k.id AS key_id") {
				continue // the lookup of the API key is in front of CreateCharge
			}
			if slices.Contains(steps, e.Kind) && r.LineOf(n) == 0 {
				t.Errorf("%s: no line of %s does %+v", r.Design, d.Code, e)
			}
		}
	}
}

// TestEveryDesignFitsAScreen: a reader sees a design at a glance. Ratchet's is the operation of the
// API as it is, with everything that a charge can be.
func TestEveryDesignFitsAScreen(t *testing.T) {
	t.Parallel()
	const shortest, longest = 20, 80
	for _, d := range lab.Designs {
		lines := strings.Count(d.Source(), "\n")
		if d.Name != "ratchet" && (lines < shortest || lines > longest) {
			t.Errorf("%s has %d lines; from %d to %d", d.Code, lines, shortest, longest)
		}
	}
}

// TestRatchetIsShownWithItsOwnCode follows a run through CreateCharge, as readers see it.
func TestRatchetIsShownWithItsOwnCode(t *testing.T) {
	t.Parallel()
	recorded, err := lab.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	d, _ := lab.FindDesign("ratchet")
	onDisk, err := os.ReadFile("../payment/charge_create.go")
	if err != nil || d.Source() != string(onDisk) {
		t.Fatalf("the code that is shown is not the code that is compiled: %v", err)
	}
	lines := strings.Split(d.Source(), "\n")
	for fault, want := range map[string][]string{
		"answer-not-recorded": {"var CreateCharge", "charge.insert(tx)", "call.To().Authorize(", "var CreateCharge",
			"call.To().Authorize(", "AdoptParams{", "charge.finalize(tx)", "&charge, fresh..."},
		"stopped": {"var CreateCharge", "charge.insert(tx)", "call.To().Authorize(", "var CreateCharge",
			"call.To().Authorize(", "AdoptParams{", "charge.finalize(tx)", "&charge, fresh...",
			"charge.finalize(tx)", "var CreateCharge", "&charge, fresh..."},
	} {
		r, _ := recorded.Find("ratchet", fault)
		var passed []string
		last := 0
		for n := range r.Events {
			if at := r.LineOf(n); at != 0 && at != last {
				passed, last = append(passed, strings.TrimSpace(lines[at-1])), at
			}
		}
		same := slices.EqualFunc(passed, want, strings.Contains)
		if !same {
			t.Errorf("%s passes\n%s", fault, strings.Join(passed, "\n"))
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s, err := lab.ParseSettings("both", "7200", "answer-first")
	want := []string{"retries by the client and a worker", "lock of 2 h", "answered, then stored"}
	if err != nil || !slices.Equal(s.Words(), want) {
		t.Errorf("%v, %v", s.Words(), err)
	}
	naive, _ := lab.FindDesign("naive")
	if words := s.For(naive).Words(); !slices.Equal(words, want[:1]) {
		t.Errorf("a design without a lock has one: %v", words)
	}
	for _, bad := range [][3]string{
		{"nobody", "", ""}, {"", "0", ""}, {"", "86401", ""}, {"", "a day", ""}, {"", "", "never"},
	} {
		if _, err := lab.ParseSettings(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("%q are settings", bad)
		}
	}
}

func TestEverySentenceIsWritten(t *testing.T) {
	t.Parallel()
	recorded, err := lab.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recorded {
		for _, e := range r.Events {
			said := r.Sentence(e)
			if said == "" || said[0] < 'A' || said[0] > 'Z' {
				t.Errorf("%s, %s: %q is no sentence about %+v", r.Design, r.Fault, said, e)
			}
		}
	}
}

func TestFindFault(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"slow-bank":              "slow-bank",
		"acquirer: answer read":  "answer-not-recorded",
		"acquirer: before":       "before-bank",
		"database: before":       "before-first-write",
		"client: before writing": "answer-not-sent",
	} {
		if f, known := lab.FindFault(name); !known || f.Name != want {
			t.Errorf("%q is %q, want %q", name, f.Name, want)
		}
	}
	for _, name := range []string{"", "unknown", "acquirer: never", "a", "acquirer"} {
		if f, known := lab.FindFault(name); known {
			t.Errorf("%q is %q", name, f.Name)
		}
	}
}
