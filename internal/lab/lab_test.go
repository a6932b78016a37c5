package lab_test

import (
	"bytes"
	"reflect"
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
	for _, name := range []string{"", "nobody", "acquirer: never"} {
		if f, known := lab.FindFault(name); known {
			t.Errorf("%q is %q", name, f.Name)
		}
	}
}
