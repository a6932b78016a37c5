package catalog

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
)

// PackageDimensions are the size of a product in inches, and its weight in ounces.
type PackageDimensions struct {
	Height Decimal `json:"height" form:"height,required"`
	Length Decimal `json:"length" form:"length,required"`
	Weight Decimal `json:"weight" form:"weight,required"`
	Width  Decimal `json:"width" form:"width,required"`
}

// Decimal is a number with two decimal places, in hundredths: a length, a weight, a
// percentage. JSON shows it as a number: 223 is 2.23. It is never a float, so what was
// sent is what is shown.
type Decimal int64

// decimalShape is a decimal with at most two places. stripe-go writes 2.5 as
// "2.5000": further places may be zeros. Seventeen digits fit into an int64.
var decimalShape = regexp.MustCompile(`^([0-9]{1,15})(?:\.([0-9]{1,2})0*)?$`)

// UnmarshalText reads a decimal as a caller sends it.
func (d *Decimal) UnmarshalText(text []byte) error {
	parts := decimalShape.FindSubmatch(text)
	if parts == nil {
		return apierror.Invalid("",
			"Invalid decimal: %s. It must be a non-negative number with at most two decimal places.",
			form.Quote(string(text)))
	}
	hundredths, err := strconv.ParseInt(string(parts[1])+(string(parts[2]) + "00")[:2], 10, 64)
	if err != nil {
		return fmt.Errorf("parse the decimal %q: %w", text, err)
	}
	*d = Decimal(hundredths)
	return nil
}

// MarshalJSON writes the number without trailing zeros: 2.23, 2.5, 2.
func (d Decimal) MarshalJSON() ([]byte, error) {
	whole, fraction := int64(d/100), int64(d%100)
	switch {
	case fraction == 0:
		return strconv.AppendInt(nil, whole, 10), nil
	case fraction%10 == 0:
		return fmt.Appendf(nil, "%d.%d", whole, fraction/10), nil
	default:
		return fmt.Appendf(nil, "%d.%02d", whole, fraction), nil
	}
}

// UnmarshalJSON reads what MarshalJSON writes, and the integers that older rows have.
func (d *Decimal) UnmarshalJSON(number []byte) error { return d.UnmarshalText(number) }
