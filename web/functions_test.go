package web

import "testing"

func TestDurations(t *testing.T) {
	t.Parallel()
	unknown, short, long := 0.0, 0.4, 12.3
	ms := int32(0)
	for _, c := range []struct {
		took any
		want string
	}{{&unknown, "–"}, {&short, "<1 ms"}, {&long, "12 ms"}, {&ms, "<1 ms"}} {
		if got := took(c.took); got != c.want {
			t.Errorf("%v is written %q, want %q", c.took, got, c.want)
		}
	}
}
