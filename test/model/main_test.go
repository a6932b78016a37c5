// Package model checks the engine against what it promises instead of against
// examples: a random walk through everything that can happen to a request, and
// the history of many clients checked for an order that explains it.
package model

import (
	"flag"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// walks and steps keep a run on every change short. The nightly one is
//
//	go test ./test/model -run TestWalk -rapid.checks 10000 -timeout 3h
const walks, steps = "120", "40"

func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{
		"rapid.checks":     walks,
		"rapid.steps":      steps,
		"rapid.nofailfile": "true",
	} {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err) // rapid has renamed a flag
		}
	}
	pgtest.Main(m)
}
