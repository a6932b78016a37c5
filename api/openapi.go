// Package api holds the API's contract.
package api

import (
	_ "embed"
	"strings"
)

// OpenAPI is openapi.yaml: every operation with its parameters, answers, errors
// and examples. Tests hold the code to it.
//
//go:embed openapi.yaml
var OpenAPI []byte

//go:embed empty_lists.txt
var emptyLists string

//go:embed unsupported_parameters.txt
var unsupportedParameters string

// EmptyLists are the addresses of Stripe's lists whose products this installation
// does not have: GET answers an empty list, as Stripe answers an account that has
// never used the product. The names are those in empty_lists.txt, one a line.
func EmptyLists() []string { return strings.Fields(emptyLists) }

// UnsupportedParameters are the parameters that Stripe's operations have and ours
// lack, by method and path: "POST /v1/charges" has "application_fee_amount". A hash
// that is missing altogether is named without its members; an item of a list has no
// index: line_items[][tax_rates]. They are those in unsupported_parameters.txt.
func UnsupportedParameters() map[string][]string {
	operations := map[string][]string{}
	var operation string
	for line := range strings.Lines(unsupportedParameters) {
		name, indented := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  ")
		if !indented {
			operation = name
			continue
		}
		operations[operation] = append(operations[operation], name)
	}
	return operations
}
