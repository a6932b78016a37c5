//go:build unix

package lab_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/stand"
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
func wantCells(t *testing.T, s *stand.Stand, designs []lab.Design) {
	t.Helper()
	var runs lab.Matrix
	began := time.Now()
	if err := s.RunAll(t.Context(), designs, lab.Faults, stand.AtOnce,
		func(r lab.Run) { runs = append(runs, r) }); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs took %v", len(runs), time.Since(began).Round(time.Second))
	for _, got := range runs {
		was, is := recorded(t).Find(got.Design, got.Fault)
		if is && got.Cell() == was.Cell() {
			continue
		}
		if got.Design == "ratchet" && (got.Charged != 1 || got.Booked != 1) {
			t.Errorf("ratchet, %s: %s\n%s", got.Fault, got.Title(), story(got))
			continue
		}
		design, _ := lab.FindDesign(got.Design)
		fault, _ := lab.FindFault(got.Fault)
		again, err := s.Run(t.Context(), design, fault, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again.Cell() != was.Cell() {
			t.Errorf("%s, %s: %q, and by itself %q, recorded is %q\n%s", got.Design, got.Fault, got.Cell(),
				again.Cell(), was.Cell(), story(again))
		}
	}
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
	programs := build(t)

	t.Run("each cell comes out as it is recorded", func(t *testing.T) {
		wantCells(t, open(t, programs, false), lab.Designs)
	})

	t.Run("the stand-in for Redis gives the same cells as Redis", func(t *testing.T) {
		if stand.RedisServer() == "" {
			t.Skip("there is no redis-server here: the whole matrix was run with the stand-in")
		}
		onRedis := slices.DeleteFunc(slices.Clone(lab.Designs), func(d lab.Design) bool {
			return !strings.HasPrefix(d.Name, "redis")
		})
		wantCells(t, open(t, programs, true), onRedis)
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
				if r, is := m.Find(d.Name, f.Name); !is || len(r.Events) == 0 {
					t.Errorf("%s, %s is not recorded", d.Name, f.Name)
				}
			}
		}
	})

	t.Run("Ratchet is right in every row", func(t *testing.T) {
		t.Parallel()
		for _, f := range lab.Faults {
			if r, _ := m.Find("ratchet", f.Name); r.Verdict() != lab.Right {
				t.Errorf("%s: %s", f.Name, r.Cell())
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

	t.Run("every other design is right when nothing goes wrong, and wrong somewhere", func(t *testing.T) {
		t.Parallel()
		for _, d := range lab.Designs {
			if r, _ := m.Find(d.Name, "none"); r.Verdict() != lab.Right {
				t.Errorf("%s: %s", d.Name, r.Cell())
			}
			wrong := slices.ContainsFunc(m, func(r lab.Run) bool {
				return r.Design == d.Name && r.Verdict() != lab.Right
			})
			if d.Name != "ratchet" && !wrong {
				t.Errorf("%s is right in every row", d.Name)
			}
		}
	})

	t.Run("recovery points fail exactly where the bank may have charged and nobody wrote it down", func(t *testing.T) {
		t.Parallel()
		for _, f := range lab.Faults {
			r, _ := m.Find("points", f.Name)
			unrecorded := slices.Contains([]string{"while-charging", "answer-not-recorded", "bank-timeout"}, f.Name)
			if (r.Verdict() == lab.Right) == unrecorded {
				t.Errorf("%s: %s", f.Name, r.Cell())
			}
		}
	})
}
