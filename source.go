// Package ratchet is the source of Ratchet as data. The documentation links every
// name it mentions to the line that declares it, and the server has no other copy of
// the source than this one.
package ratchet

import "embed"

// Source has every Go and SQL file of the repository, and the other files that the
// documentation names, by their paths. Each pattern is one depth of folders:
// test/house/source_test.go finds a file that none of them takes.
//
//go:embed *.go cmd/*/*.go internal/*/*.go internal/*/*/*.go internal/*/*/*/*.go
//go:embed api/*.go docs/*.go examples/*/*.go migrations/*.go web/*.go web/*/*.go test/*/*.go test/*/*/*.go
//go:embed migrations/*.sql internal/*/*/*.sql internal/*/*/*/*.sql
//go:embed api/*.txt internal/verify/*.txt test/browser/*.mjs web/static/*.css web/*/*.js web/*/*/*.js
//go:embed web/templates/*.html web/templates/*/*.html
//go:embed test/patroni/*.yml
var Source embed.FS
