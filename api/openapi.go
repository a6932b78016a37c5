// Package api holds the API's contract.
package api

import _ "embed"

// OpenAPI is openapi.yaml: every operation with its parameters, answers, errors
// and examples. Tests hold the code to it.
//
//go:embed openapi.yaml
var OpenAPI []byte
