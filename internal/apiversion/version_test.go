package apiversion_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apiversion"
)

func TestParse(t *testing.T) {
	t.Parallel()

	t.Run("every version in the list is known, and the list is in order", func(t *testing.T) {
		t.Parallel()
		all := apiversion.Versions()
		if len(all) < 129 || !slices.IsSorted(all) || !slices.Contains(all, apiversion.Current) {
			t.Fatalf("the list is %v", all)
		}
		for _, v := range all {
			if _, err := time.Parse(time.DateOnly, string(v)[:10]); err != nil {
				t.Errorf("%s does not begin with a day", v)
			}
			if got, is := apiversion.Parse(string(v)); !is || got != v {
				t.Errorf("%s is not known", v)
			}
		}
	})

	for name, want := range map[string]bool{
		"2020-08-27":             true,
		"2023-08-16":             true,
		"2025-03-31.basil":       true,
		"2026-10-28.endive":      true,
		"2026-08-26.preview":     true,
		"":                       false,
		"latest":                 false,
		"2020-08-28":             false,
		"2026-08-26":             false,
		"2026-08-26.clover":      false,
		"2020-08-27.dahlia":      false,
		"2020-08-27.preview":     false,
		".preview":               false,
		"2011-01-01 ":            false,
		"2011-01-01\n2011-06-21": false,
	} {
		t.Run("a name is a version only if Stripe has had it: "+name, func(t *testing.T) {
			t.Parallel()
			if _, is := apiversion.Parse(name); is != want {
				t.Errorf("%q is %v, want %v", name, is, want)
			}
		})
	}

	t.Run("a version is compared with a day", func(t *testing.T) {
		t.Parallel()
		if v := apiversion.Version("2024-09-30.acacia"); v.Before("2024-09-30") || !v.Before("2024-10-01") {
			t.Error("2024-09-30.acacia is in the wrong place")
		}
	})
}
