// Package migrations carries the schema's chapters inside the binary, so that
// a deploy can never run with another version's SQL. Migrations only go forward.
package migrations

import "embed"

// FS holds every NNNNNN_subject.up.sql.
//
//go:embed *.sql
var FS embed.FS
