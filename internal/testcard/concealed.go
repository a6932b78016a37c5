package testcard

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// concealed holds a text where nothing that prints can find it. Methods are not
// enough: fmt and its like go around the methods of unexported fields and print
// what lies beneath. What lies beneath here is a function.
type concealed struct{ reveal func() string }

func conceal(s string) concealed { return concealed{func() string { return s }} }

func (c concealed) text() string {
	if c.reveal == nil {
		return ""
	}
	return c.reveal()
}

const (
	panShown = "[card number]"
	cvcShown = "[security code]"
)

// PAN is a card number as a customer typed it, without spaces and dashes. However
// it is printed, logged or marshaled, "[card number]" comes out. The zero value
// is no number, and so is what unmarshals from that text: a number that was
// stored with a request's parameters is gone, on purpose.
type PAN struct{ concealed }

// typedSpacing is what customers type between the digits of a number.
var typedSpacing = strings.NewReplacer(" ", "", "-", "")

// NewPAN conceals a number. It need not be valid; Validate tells.
func NewPAN(typed string) PAN {
	return PAN{conceal(typedSpacing.Replace(typed))}
}

func (p PAN) digits() string { return p.text() }

// UnmarshalText takes anything: an error here could only repeat what it is about.
func (p *PAN) UnmarshalText(typed []byte) error {
	*p = PAN{}
	if string(typed) != panShown {
		*p = NewPAN(string(typed))
	}
	return nil
}

// String is the placeholder, never the number: so is every other way to print it.
func (p PAN) String() string { return panShown }

// GoString is the placeholder (%#v).
func (p PAN) GoString() string { return panShown }

// Format prints the placeholder for every verb.
func (p PAN) Format(f fmt.State, _ rune) { io.WriteString(f, panShown) } //nolint:errcheck // fmt keeps the state of f

// MarshalText is the placeholder.
func (p PAN) MarshalText() ([]byte, error) { return []byte(panShown), nil }

// MarshalJSON is the placeholder, so the number reaches no stored parameter.
func (p PAN) MarshalJSON() ([]byte, error) { return []byte(`"` + panShown + `"`), nil }

// LogValue is the placeholder in structured logs.
func (p PAN) LogValue() slog.Value { return slog.StringValue(panShown) }

// CVC is a security code as a customer typed it. It is concealed like a PAN, as
// "[security code]", and is never kept beyond the request that brings it.
type CVC struct{ concealed }

// NewCVC conceals a security code. It need not be valid; Validate tells.
func NewCVC(typed string) CVC { return CVC{conceal(typed)} }

// UnmarshalText takes anything, as that of PAN does.
func (c *CVC) UnmarshalText(typed []byte) error {
	*c = CVC{}
	if string(typed) != cvcShown {
		*c = NewCVC(string(typed))
	}
	return nil
}

// String is the placeholder, never the code: so is every other way to print it.
func (c CVC) String() string { return cvcShown }

// GoString is the placeholder (%#v).
func (c CVC) GoString() string { return cvcShown }

// Format prints the placeholder for every verb.
func (c CVC) Format(f fmt.State, _ rune) { io.WriteString(f, cvcShown) } //nolint:errcheck // fmt keeps the state of f

// MarshalText is the placeholder.
func (c CVC) MarshalText() ([]byte, error) { return []byte(cvcShown), nil }

// MarshalJSON is the placeholder, so the code reaches no stored parameter.
func (c CVC) MarshalJSON() ([]byte, error) { return []byte(`"` + cvcShown + `"`), nil }

// LogValue is the placeholder in structured logs.
func (c CVC) LogValue() slog.Value { return slog.StringValue(cvcShown) }
