// Package apiversion knows the versions that Stripe's API has had.
//
// A version is the day of its release, since 2024 with the name of its release
// train: 2026-08-26.dahlia. A client pins one, and Stripe goes on answering in it.
package apiversion

import (
	_ "embed"
	"slices"
	"strings"
)

// Version is the name of a version that Stripe has had. Parse checks one that
// comes from outside.
type Version string

// Current is the version whose shapes the packages of the API's objects have.
const Current Version = "2026-08-26.dahlia"

// names are all versions, oldest first. They come from Stripe's published OpenAPI
// document of 2026-08-26.dahlia, which lists them as what a webhook endpoint can
// be made with; the two of endive are those that stripe-node 23.0 and 23.1 send.
//
//go:embed versions.txt
var names string

var known = strings.Fields(names)

// preview is the name that beta releases of the SDKs give to a version.
const preview = ".preview"

// Parse returns the version of that name, and whether Stripe has had one. The
// preview of a version, 2026-08-26.preview, is answered like the version.
func Parse(name string) (Version, bool) {
	if slices.Contains(known, name) {
		return Version(name), true
	}
	day, isPreview := strings.CutSuffix(name, preview)
	return Version(name), isPreview && slices.ContainsFunc(known, func(v string) bool {
		return strings.HasPrefix(v, day+".")
	})
}

// Versions are all versions there are, oldest first.
func Versions() []Version {
	all := make([]Version, len(known))
	for i, name := range known {
		all[i] = Version(name)
	}
	return all
}

// Before says whether a version is older than the one that was released on a day,
// such as "2022-11-15".
func (v Version) Before(day string) bool { return v.day() < day }

// OrCurrent is the version itself, or the current one where none was written down.
func (v Version) OrCurrent() Version {
	if v == "" {
		return Current
	}
	return v
}

const dayLength = len("2011-01-01")

func (v Version) day() string { return string(v.OrCurrent()[:dayLength]) }
