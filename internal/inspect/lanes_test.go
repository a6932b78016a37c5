package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func after(seconds int) *time.Time {
	at := noon.Add(time.Duration(seconds) * time.Second)
	return &at
}

func pid(n int32) *int32 { return &n }

func TestLanes(t *testing.T) {
	t.Parallel()
	begun := idempotency.Summary{State: idempotency.Finished, CreatedAt: noon, FinishedAt: after(30)}

	t.Run("who died, who parked it and who finished it are three attempts", func(t *testing.T) {
		t.Parallel()
		got := lanes(begun, []takeover{
			{
				Epoch:     2,
				At:        *after(10),
				Was:       idempotency.Running,
				Point:     "charge_recorded",
				LostByPID: pid(1),
				SeenUntil: after(6),
				OwnerPID:  pid(2),
			},
			{Epoch: 3, At: *after(20), Was: idempotency.Parked, Point: "charge_recorded", OwnerPID: pid(3)},
		})
		want := []struct {
			end   End
			pid   int32
			until time.Time
			stood string
		}{{Died, 1, after(6).Add(-idempotency.AliveFor), ""}, {Parked, 2, *after(20), "charge_recorded"},
			{Ended, 3, *after(30), "charge_recorded"}}
		if len(got) != len(want) {
			t.Fatalf("%d attempts", len(got))
		}
		for i, w := range want {
			if a := got[i]; a.End != w.end || *a.PID != w.pid || !a.Until.Equal(w.until) || a.Stood != w.stood ||
				a.Epoch != int32(i+1) {
				t.Errorf("attempt %d is %+v, want %+v", i+1, a, w)
			}
		}
	})

	t.Run("a process that comes back had only stalled", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			cameBack bool
			refused  *time.Time
			want     End
		}{{false, nil, Died}, {true, nil, Stalled}, {true, after(20), Stalled}, {false, after(20), Stalled}} {
			first := lanes(begun, []takeover{{Epoch: 2, At: *after(10), Was: idempotency.Running, SeenUntil: after(6),
				CameBack: c.cameBack, RefusedAt: c.refused}})[0]
			if first.End != c.want || first.Refused != c.refused {
				t.Errorf("came back %v, refused at %v: %+v", c.cameBack, c.refused, first)
			}
		}
	})

	t.Run("nobody dies before he began, or after he was buried", func(t *testing.T) {
		t.Parallel()
		for _, seen := range []*time.Time{after(-100), after(100), nil} {
			first := lanes(begun,
				[]takeover{{Epoch: 2, At: *after(10), Was: idempotency.Running, SeenUntil: seen}})[0]
			if first.Until.Before(noon) || first.Until.After(*after(10)) {
				t.Errorf("it was last seen at %v, and died at %v", seen, first.Until)
			}
		}
	})

	t.Run("how a request stands is how its last attempt stands", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			state     string
			executing bool
			want      End
		}{{idempotency.Running, true, Executing}, {idempotency.Running, false, Died},
			{idempotency.Parked, false, Parked}, {idempotency.Held, false, Waiting},
			{idempotency.Finished, false, Ended}, {idempotency.Archived, false, Ended}} {
			got := lanes(idempotency.Summary{State: c.state, Executing: c.executing, CreatedAt: noon}, nil)
			if len(got) != 1 || got[0].End != c.want {
				t.Errorf("%s, executing %v: %+v", c.state, c.executing, got)
			}
		}
	})
}

func TestEarliest(t *testing.T) {
	t.Parallel()
	const early, late = "0VbTq1s3QWERTYqwerty1234", "0VbTq1s4QWERTYqwerty1234"
	for _, c := range []struct {
		ids  []string
		want string
	}{
		{[]string{"pi_" + late, "ch_" + early}, "0VbTq1s3"},
		{[]string{"cs_test_" + late}, "0VbTq1s4"},
		{[]string{"mug", "my_own_product", "ch_" + late}, "0VbTq1s4"},
		{[]string{"mug"}, ""},
	} {
		if got := earliest(c.ids); got != c.want {
			t.Errorf("the first of %v was made at %q, want %q", c.ids, got, c.want)
		}
	}
}

func TestStoryOfACrash(t *testing.T) {
	t.Parallel()
	serve, work := "serve", "work"
	status := int16(200)
	r := &Request{
		Summary: idempotency.Summary{
			ID:         "req_1",
			State:      idempotency.Finished,
			Point:      "charge_finalized",
			CreatedAt:  noon,
			FinishedAt: after(30),
			Status:     &status,
		},
		Attempts: []Attempt{
			{Epoch: 1, From: noon, Until: after(6), End: Died, PID: pid(1), Kind: &serve},
			{
				Epoch: 2,
				From:  *after(10),
				Until: after(30),
				Stood: "charge_recorded",
				End:   Ended,
				PID:   pid(2),
				Kind:  &work,
			},
		},
		RecoveryPoints: []RecoveryPoint{{Name: "charge_recorded", Kind: "atomic", Epoch: 1, ReachedAt: after(6)},
			{Name: "acquirer_answered", Kind: "foreign", Epoch: 2, ReachedAt: after(20)},
			{Name: "charge_finalized", Kind: "atomic", Epoch: 2, ReachedAt: after(30)}},
	}

	t.Run("nobody does anything after he has died, be it in one moment", func(t *testing.T) {
		t.Parallel()
		var order []Kind
		for _, line := range Timeline(r) {
			order = append(order, line.Kind)
		}
		if want := []Kind{Received, Passed, Death, TookOver, Passed, Passed, Answered}; !slices.Equal(order, want) {
			t.Errorf("the lines are %v, want %v", order, want)
		}
	})

	t.Run("the sentences say who died where, and who went on from there", func(t *testing.T) {
		t.Parallel()
		want := []string{
			"Process 1 (API) started this request and stopped responding after “charge recorded”.",
			"4.0 s later process 2 (worker) resumed from “charge recorded” and finished it.",
			"The 200 response is stored. A retry with this key gets the same bytes.",
		}
		if got := r.InWords(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestStoryOfAStall(t *testing.T) {
	t.Parallel()
	status := int16(200)
	r := &Request{
		Summary: idempotency.Summary{ID: "req_1", State: idempotency.Finished, Point: "charge_finalized",
			CreatedAt: noon, FinishedAt: after(12), Status: &status},
		Attempts: []Attempt{
			{Epoch: 1, From: noon, Until: after(6), End: Stalled, Refused: after(20), PID: pid(1)},
			{Epoch: 2, From: *after(10), Until: after(12), Stood: "charge_recorded", End: Ended, PID: pid(2)},
		},
		RecoveryPoints: []RecoveryPoint{{Name: "charge_recorded", Kind: "atomic", Epoch: 1, ReachedAt: after(6)},
			{Name: "charge_finalized", Kind: "atomic", Epoch: 2, ReachedAt: after(12)}},
	}

	t.Run("no process is called dead, and the refusal comes last", func(t *testing.T) {
		t.Parallel()
		var order []Kind
		for _, line := range Timeline(r) {
			order = append(order, line.Kind)
		}
		if want := []Kind{Received, Passed, Stall, TookOver, Passed, Answered, Refused}; !slices.Equal(order, want) {
			t.Errorf("the lines are %v, want %v", order, want)
		}
		if r.Crashes() != 0 || r.Stalls() != 1 {
			t.Errorf("%d crashes and %d stalls", r.Crashes(), r.Stalls())
		}
	})

	t.Run("the sentences say who stalled, and what the fence did", func(t *testing.T) {
		t.Parallel()
		want := []string{
			"Process 1 started this request and stopped responding after “charge recorded”.",
			"4.0 s later process 2 resumed from “charge recorded” and finished it.",
			"Process 1 had only stalled. It came back 14.0 s after its last heartbeat, and the fence refused its " +
				"commit.",
			"The 200 response is stored. A retry with this key gets the same bytes.",
		}
		if got := r.InWords(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestKeysThatWereNotUsedAreOneSentence(t *testing.T) {
	t.Parallel()
	r := &Request{Attempts: []Attempt{{Epoch: 1, From: noon, Until: after(1), End: Parked},
		{Epoch: 2, From: *after(2), Until: after(3), Stood: "charge_recorded", End: Ended}}}
	for generation := range int16(3) {
		r.Calls = append(r.Calls,
			Call{RequestCall: idempotency.RequestCall{Phase: "acquirer_answered", Generation: generation}})
	}
	r.Calls[2].Movements = []acquirer.Movement{{Kind: "sale", Amount: 8800, Currency: "usd"}}
	got := r.InWords()
	want := "The acquirer has no record for 2 derived keys, and was called with the next one. Its records show one " +
		"sale of $88.00."
	if len(got) != 3 || got[2] != want {
		t.Errorf("%q, want %q as the third", got, want)
	}
}

func TestAJobIsNarrowedToOnePayment(t *testing.T) {
	t.Parallel()
	settled := func(method string) *Request {
		return &Request{
			Summary: idempotency.Summary{Method: method},
			Events: []Event{{ID: "evt_1", ObjectID: "ch_1"}, {ID: "evt_2", ObjectID: "ch_2"},
				{ID: "evt_3", ObjectID: "ch_1"}},
			Deliveries: []Delivery{{EventID: "evt_1"}, {EventID: "evt_2"}},
		}
	}
	for _, c := range []struct {
		name, method       string
		objects            []string
		events, deliveries int
	}{
		{"a job shows what is about the payment", "JOB", []string{"pi_1", "ch_1"}, 2, 1},
		{"a job that says nothing of the object shows everything", "JOB", []string{"part_1"}, 3, 2},
		{"a client's request shows everything", "POST", []string{"ch_1"}, 3, 2},
	} {
		r := settled(c.method)
		r.narrow(c.objects)
		if len(r.Events) != c.events || len(r.Deliveries) != c.deliveries {
			t.Errorf("%s: %d events and %d deliveries, want %d and %d", c.name, len(r.Events), len(r.Deliveries),
				c.events, c.deliveries)
		}
	}
}

func TestOnlyARetryWithAKeyIsPromised(t *testing.T) {
	t.Parallel()
	status := int16(200)
	for _, generated := range []bool{false, true} {
		r := &Request{Summary: idempotency.Summary{State: idempotency.Finished, Method: "POST", Path: "/v1/charges",
			KeyGenerated: generated, CreatedAt: noon, FinishedAt: after(1), Status: &status}}
		said := strings.Join(r.InWords(), " ")
		for _, line := range Timeline(r) {
			said += " " + line.Text + " " + line.Detail
		}
		if strings.Contains(strings.ToLower(said), "retry with this key") == generated {
			t.Errorf("a request whose key was generated (%t) says: %s", generated, said)
		}
	}
}
