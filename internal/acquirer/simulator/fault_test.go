package simulator

import "testing"

func TestParseFaults(t *testing.T) {
	t.Parallel()

	t.Run("several strike together", func(t *testing.T) {
		t.Parallel()
		parsed, err := parseFaults("slow:250, drop_after_acting=1,wrong_amount=0")
		if err != nil {
			t.Fatal(err)
		}
		var got fault
		parsed.strike(&got)
		if got.slow.Milliseconds() != 250 || !got.dropAfterActing || got.wrongAmount {
			t.Errorf("struck: %+v", got)
		}
	})

	t.Run("one that is counted strikes that often", func(t *testing.T) {
		t.Parallel()
		parsed, err := parseFaults("retire_key*2")
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []bool{true, true, false, false} {
			var got fault
			parsed.strike(&got)
			if got.retireKey != want {
				t.Errorf("request %d: struck %v", i+1, got.retireKey)
			}
		}
	})

	t.Run("what is misspelled is refused", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"drop", "slow", "slow:", "slow:-1", "slow:soon", "wrong_amount=2",
			"wrong_amount=NaN", "wrong_amount=", "retire_key:1", "retire_key*", "retire_key*-1"} {
			_, err := parseFaults(text)
			if err == nil {
				t.Errorf("%q was accepted", text)
			}
		}
	})
}
