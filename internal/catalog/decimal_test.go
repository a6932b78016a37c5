package catalog

import (
	"encoding/json"
	"errors"
	"net/url"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
)

// TestPackageDimensions sends dimensions as a caller does and reads what is stored and shown.
func TestPackageDimensions(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ name, sent, shown string }{
		{"a whole number", "2", "2"},
		{"zero", "0", "0"},
		{"one decimal place", "2.5", "2.5"},
		{"two decimal places", "2.23", "2.23"},
		{"hundredths alone", "0.05", "0.05"},
		{"a number that a float would change", "1234567890123.29", "1234567890123.29"},
		{"zeros that stripe-go appends", "2.2300", "2.23"},
		{"a whole number with zeros", "19.0000", "19"},
	} {
		t.Run(c.name+" is stored and shown as it was sent", func(t *testing.T) {
			t.Parallel()
			in, err := decodeHeight(t, c.sent)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := json.Marshal(in.PackageDimensions)
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"height":` + c.shown + `,"length":1,"weight":1,"width":1}`; string(stored) != want {
				t.Errorf("stored %s, want %s", stored, want)
			}
			var read PackageDimensions
			if err := json.Unmarshal(stored, &read); err != nil || read != *in.PackageDimensions {
				t.Errorf("read back %+v, %v; want %+v", read, err, *in.PackageDimensions)
			}
		})
	}

	for name, sent := range map[string]string{
		"three decimal places":      "2.235",
		"a negative number":         "-1",
		"an exponent":               "1e3",
		"a word":                    "tall",
		"a point alone":             ".",
		"no digit after the point":  "2.",
		"more digits than are kept": "1234567890123456",
		"a comma":                   "2,5",
	} {
		t.Run(name+" is refused by its name", func(t *testing.T) {
			t.Parallel()
			_, err := decodeHeight(t, sent)
			var e *apierror.Error
			if !errors.As(err, &e) || e.Param != "package_dimensions[height]" {
				t.Errorf("got %v, want a refusal of package_dimensions[height]", err)
			}
		})
	}
}

func decodeHeight(t *testing.T, height string) (in CreateProductParams, err error) {
	t.Helper()
	values, err := form.DefaultLimits().Parse("name=Sledge&package_dimensions[length]=1&package_dimensions[weight]=1" +
		"&package_dimensions[width]=1&package_dimensions[height]=" + url.QueryEscape(height))
	if err != nil {
		t.Fatal(err)
	}
	err = form.Decode(values, &in)
	return in, err
}
