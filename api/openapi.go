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

// EmptyLists are the addresses of Stripe's lists whose products this installation
// does not have: GET answers an empty list, as Stripe answers an account that has
// never used the product. The names are those in empty_lists.txt, one a line.
func EmptyLists() []string { return strings.Fields(emptyLists) }
