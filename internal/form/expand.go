package form

import (
	"strings"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

// Expand is the list of properties a caller wants as whole objects instead of
// ids: customer, latest_charge.balance_transaction, data.customer. Whether such a
// property exists depends on the answer, and is checked where the response is built.
type Expand []string

// maxExpandLevels counts the names between the dots, data of a list included.
const maxExpandLevels = 4

func (e *Expand) decodeForm(d *decoder, f *field, n *node) {
	items, ok := d.items(n, f.maxItems())
	if !ok {
		return
	}
	*e = make(Expand, 0, len(items))
	for _, item := range items {
		d.enter(item.name)
		property, ok := d.scalar(f, item.value, "string")
		d.leave()
		if !ok {
			return
		}
		if strings.Count(property, ".") >= maxExpandLevels {
			d.refuse(apierror.Invalid("", "You cannot expand more than %d levels of a property. Property: %s",
				maxExpandLevels, Quote(property)).WithCode("property_expansion_max_depth"))
			return
		}
		*e = append(*e, property)
	}
}
