package apikey

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Level is how much a restricted key may do with a resource. Writing includes
// reading.
type Level string

// The levels. What a key does not name has none.
const (
	Read  Level = "read"
	Write Level = "write"
)

// Permissions are what a restricted key may do, by resource: "charges": Write.
type Permissions map[string]Level

// none is how a caller writes that a resource is not allowed.
const none = "none"

// ParsePermissions reads the level of each resource: read, write or none.
func ParsePermissions(levels map[string]string, resources []string) (Permissions, error) {
	known := map[string]bool{}
	for _, resource := range resources {
		known[resource] = true
	}
	p := Permissions{}
	for resource, level := range levels {
		switch {
		case !known[resource]:
			return nil, fmt.Errorf("unknown resource %q: want one of %s", resource, strings.Join(resources, ", "))
		case level == string(Read), level == string(Write):
			p[resource] = Level(level)
		case level != none:
			return nil, fmt.Errorf("%s must be %s, %s or %s, not %q", resource, none, Read, Write, level)
		}
	}
	return p, nil
}

// String is the permissions as they are given: "charges=write,customers=read".
func (p Permissions) String() string {
	var all []string
	for _, resource := range slices.Sorted(maps.Keys(p)) {
		all = append(all, resource+"="+string(p[resource]))
	}
	return strings.Join(all, ",")
}

// Allow says whether a resource can be read or written.
func (p Permissions) Allow(resource string, need Level) bool {
	has := p[resource]
	return has == Write || has == need
}
