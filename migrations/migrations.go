// Package migrations carries the schema's chapters inside the binary, so that
// a deploy can never run with another version's SQL.
package migrations

import "embed"

// FS holds every NNNNNN_subject.up.sql and its .down.sql.
//
//go:embed *.sql
var FS embed.FS
