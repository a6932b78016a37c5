package model

import (
	"net/http"
	"testing"
)

// A server that is taken for dead while it waits for the acquirer comes back
// with an answer in its hands. Its charge must not be booked a second time.
func TestOvertakenCharge(t *testing.T) {
	t.Parallel()

	t.Run("the books hold a charge once though two servers brought its answer", func(t *testing.T) {
		t.Parallel()
		in := install(t, 2)
		begun, goOn := in.acquirer.Stall(t)
		first := make(chan reply, 1)
		go func() { first <- in.charge(0, "k", chargeForm, timeout) }()
		<-begun

		// Its lease runs out. The row may be in use: the update waits for it.
		_, err := in.pool.Exec(t.Context(), "UPDATE runs SET lease_until = clock_timestamp() - interval '1 second'")
		if err != nil {
			t.Fatal(err)
		}
		winner := in.charge(1, "k", chargeForm, timeout)
		goOn()
		loser := <-first
		if winner.status != http.StatusOK || loser.status != http.StatusOK || winner.body != loser.body {
			t.Errorf("one server answered %+v, the other %+v", winner, loser)
		}
		if winner.replayed == loser.replayed {
			t.Error("want one answer that is the original and one that is a replay")
		}
		in.wantEverythingOnce(t, 1)
	})
}
