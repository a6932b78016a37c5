//go:build unix

package lab_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/runner"
)

func recorded(t *testing.T) lab.Matrix {
	t.Helper()
	m, err := lab.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wantCells runs designs under all faults and wants the recorded cells. A cell that
// differs is run once more alone: attempts of a client that hangs up after 0.6 s
// come out differently on a machine that is stuck for a second. A charge of Ratchet's
// that is missing or one too many is an error at once.
func wantCells(t *testing.T, s *runner.Runner, designs []lab.Design) {
	t.Helper()
	var runs lab.Matrix
	began := time.Now()
	if err := s.RunAll(t.Context(), lab.Cases(designs, lab.Faults, lab.Settings{}), runner.AtOnce,
		func(r lab.Run) { runs = append(runs, r) }); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs took %v", len(runs), time.Since(began).Round(time.Second))
	for _, got := range runs {
		if got.Design == "ratchet" && got.Fault == "stopped" && !refusedFirst(got) {
			t.Errorf("the fence's refusal is not in the trace, or behind the answer:\n%s", story(got))
		}
		was, is := recorded(t).Find(got.Design, got.Fault)
		if is && got.Cell() == was.Cell() {
			continue
		}
		design, _ := lab.FindDesign(got.Design)
		fault, _ := lab.FindFault(got.Fault)
		if design.Ours() && (got.Charged != was.Charged || got.Booked != was.Booked) {
			t.Errorf("%s, %s: %s\n%s", got.Design, got.Fault, got.Title(), story(got))
			continue
		}
		again, err := s.Run(t.Context(), lab.Case{Design: design, Fault: fault}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again.Cell() != was.Cell() {
			t.Errorf("%s, %s: %q, and by itself %q, recorded is %q\n%s", got.Design, got.Fault, got.Cell(),
				again.Cell(), was.Cell(), story(again))
		}
	}
}

func count(r lab.Run, k lab.Kind) (n int) {
	for _, e := range r.Events {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// refusedFirst says whether the fence refuses the process that was stopped before it answers or acknowledges.
func refusedFirst(r lab.Run) bool {
	refused := slices.IndexFunc(r.Events, func(e lab.Event) bool { return e.Kind == lab.FencedOff })
	return refused >= 0 && slices.ContainsFunc(r.Events[refused:], func(e lab.Event) bool {
		return e.PID == r.Events[refused].PID && (e.Kind == lab.Answers || e.Kind == lab.Acks)
	})
}

// story is a run as a reader sees it.
func story(r lab.Run) string {
	var lines []string
	for _, e := range r.Events {
		lines = append(lines, "\t"+r.Sentence(e))
	}
	return strings.Join(lines, "\n")
}

func TestMatrix(t *testing.T) {
	programs := build(t, "ratchet", "ratchet-lab")

	t.Run("each cell comes out as it is recorded", func(t *testing.T) {
		wantCells(t, open(t, programs, runner.Config{}), lab.Designs)
	})

	t.Run("Ratchet is right, too, where a worker retries, alone or beside the client", func(t *testing.T) {
		s := open(t, programs, runner.Config{})
		ratchet, _ := lab.FindDesign("ratchet")
		var cases []lab.Case
		for _, name := range []string{"before-bank", "answer-not-recorded", "commit-sent", "stopped"} {
			fault, _ := lab.FindFault(name)
			for _, by := range []lab.Retries{lab.ByWorker, lab.ByBoth} {
				cases = append(cases, lab.Case{Design: ratchet, Fault: fault, Settings: lab.Settings{Retries: by}})
			}
		}
		err := s.RunAll(t.Context(), cases, runner.AtOnce, func(r lab.Run) {
			if r.Charged != 1 || r.Booked != 1 {
				t.Errorf("%s, %v: %s\n%s", r.Fault, r.Words(), r.Cell(), story(r))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	})

	t.Run("the life of the lock decides whether Redis charges twice", func(t *testing.T) {
		s := open(t, programs, runner.Config{})
		design, _ := lab.FindDesign("redis-1s")
		fault, _ := lab.FindFault("slow-bank")
		for lock, want := range map[int]int{1: 2, 30: 1} {
			c := lab.Case{Design: design, Fault: fault, Settings: lab.Settings{LockSeconds: lock}}
			run, err := s.Run(t.Context(), c, nil)
			if err != nil {
				t.Fatal(err)
			}
			if run.Charged != want {
				t.Errorf("a lock of %d s: %s", lock, run.Cell())
			}
		}
	})

	t.Run("the stand-in for Redis gives the same cells as Redis", func(t *testing.T) {
		if runner.RedisServer() == "" {
			t.Skip("there is no redis-server here: the whole matrix was run with the stand-in")
		}
		onRedis := slices.DeleteFunc(slices.Clone(lab.Designs), func(d lab.Design) bool {
			return !d.OnRedis()
		})
		wantCells(t, open(t, programs, runner.Config{StandIn: true}), onRedis)
	})

	t.Run("the broker that the lab compiles gives the same cells as the one of the distribution", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it compiles a broker: run it without -short")
		}
		if runner.BrokerServer() == "" {
			t.Skip("there is no nats-server here: the whole matrix was run with the compiled one")
		}
		broker, err := runner.BuildBroker(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		onBroker := slices.DeleteFunc(slices.Clone(lab.Designs), func(d lab.Design) bool { return !d.Queue })
		wantCells(t, open(t, programs, runner.Config{Broker: broker}), onBroker)
	})
}

// TestRecordedMatrix says what the recorded matrix has to show, no matter what the lab
// would record: no record can be made that hides a failure of Ratchet's.
func TestRecordedMatrix(t *testing.T) {
	t.Parallel()
	m := recorded(t)

	t.Run("has every design under every fault", func(t *testing.T) {
		t.Parallel()
		for _, d := range lab.Designs {
			for _, f := range lab.Faults {
				if r, is := m.Find(d.Name, f.Name); is != f.Strikes(d) || is && len(r.Events) == 0 {
					t.Errorf("%s, %s is not recorded", d.Name, f.Name)
				}
			}
		}
	})

	t.Run("Ratchet and its inbox are right in every row", func(t *testing.T) {
		t.Parallel()
		for _, r := range m {
			if d, _ := lab.FindDesign(r.Design); d.Ours() && r.Verdict() != lab.Right {
				t.Errorf("%s, %s: %s", r.Design, r.Fault, r.Cell())
			}
		}
	})

	t.Run("a message that is redelivered after a crash was redelivered, in the record too", func(t *testing.T) {
		t.Parallel()
		for _, design := range []string{"queue-set", "queue-table", "inbox"} {
			for _, fault := range []string{"queue-before-ack", "queue-redelivered", "queue-two-consumers"} {
				r, _ := m.Find(design, fault)
				again := slices.ContainsFunc(r.Events, func(e lab.Event) bool {
					return e.Kind == lab.Delivered && strings.Contains(e.What, "pays the order, delivery 2")
				})
				// the inbox acknowledges in the first second, before the slow bank answers
				if early := design == "inbox" && fault == "queue-two-consumers"; !again && !early {
					t.Errorf("%s, %s:\n%s", design, fault, story(r))
				}
			}
		}
	})

	t.Run("the fence refuses Ratchet's process that was stopped and continued, in the record too", func(t *testing.T) {
		t.Parallel()
		r, _ := m.Find("ratchet", "stopped")
		continued := slices.IndexFunc(r.Events, func(e lab.Event) bool { return e.Kind == lab.Continued })
		refused := slices.IndexFunc(r.Events, func(e lab.Event) bool {
			return e.Kind == lab.FencedOff && e.PID == r.Events[max(0, continued)].PID
		})
		if continued < 0 || refused < continued {
			t.Errorf("the refusal is not to be seen:\n%s", story(r))
		}
	})

	t.Run("a process is refused by the fence before it answers", func(t *testing.T) {
		t.Parallel()
		for design, fault := range map[string]string{"ratchet": "stopped", "inbox": "queue-stopped"} {
			if r, _ := m.Find(design, fault); !refusedFirst(r) {
				t.Errorf("%s:\n%s", design, story(r))
			}
		}
	})

	t.Run("a process answers each request once", func(t *testing.T) {
		t.Parallel()
		for _, r := range m {
			sent, answered := count(r, lab.Sends), count(r, lab.Answers)
			if d, _ := lab.FindDesign(r.Design); !d.Queue && answered > sent {
				t.Errorf("%s, %s: %d requests, %d answers\n%s", r.Design, r.Fault, sent, answered, story(r))
			}
		}
	})

	t.Run("every other design is right when nothing goes wrong, and wrong somewhere", func(t *testing.T) {
		t.Parallel()
		for _, d := range lab.Designs {
			none, _ := lab.FindFault("none")
			none, _ = none.For(d)
			if r, _ := m.Find(d.Name, none.Name); r.Verdict() != lab.Right {
				t.Errorf("%s: %s", d.Name, r.Cell())
			}
			wrong := slices.ContainsFunc(m, func(r lab.Run) bool {
				return r.Design == d.Name && r.Verdict() != lab.Right
			})
			if !d.Ours() && !wrong {
				t.Errorf("%s is right in every row", d.Name)
			}
		}
	})

	t.Run("recovery points fail exactly where the bank may have charged and nobody wrote it down", func(t *testing.T) {
		t.Parallel()
		for _, f := range lab.Faults {
			r, is := m.Find("points", f.Name)
			if !is {
				continue
			}
			unrecorded := slices.Contains([]string{"while-charging", "answer-not-recorded", "bank-timeout"}, f.Name)
			if (r.Verdict() == lab.Right) == unrecorded {
				t.Errorf("%s: %s", f.Name, r.Cell())
			}
		}
	})
}
