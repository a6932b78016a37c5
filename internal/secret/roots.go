package secret

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Version is one root secret of an installation, as the keys that are derived from it.
type Version struct {
	Number  int16 // 0: this process was given the secret, and the installation does not use it yet
	Active  bool  // it may make new values
	Retired bool  // the secret itself is gone: Keys has what was kept of it
	Keys    map[string][]byte
}

// VersionOf is a root secret with all keys that are derived from it.
func VersionOf(number int16, root Root) Version {
	v := Version{Number: number, Active: number > 0, Keys: map[string][]byte{}}
	for _, purpose := range slices.Concat(Kept, []string{TOTP}) {
		v.Keys[purpose] = root.For(purpose)
	}
	return v
}

// Roots are the root secrets that an installation has had. The newest makes what is new, and the older ones open what
// they have made. A rotation adds one while the process runs. Safe for concurrent use.
type Roots struct {
	newestFirst atomic.Pointer[[]Version]
}

// NewRoots returns the root secret in these versions, in any order.
func NewRoots(versions ...Version) *Roots {
	r := &Roots{}
	r.Set(versions)
	return r
}

// Only is the one secret of an installation that has never rotated it.
func Only(root Root) *Roots { return NewRoots(VersionOf(1, root)) }

// Keys are the keys for one purpose of an installation that has never rotated this secret.
func (r Root) Keys(purpose string) Keys { return Only(r).Keys(purpose) }

// Set replaces the versions. Goroutines that use the keys see all of the old ones or all of the new.
func (r *Roots) Set(versions []Version) {
	sorted := slices.SortedStableFunc(slices.Values(versions),
		func(a, b Version) int { return cmp.Compare(b.Number, a.Number) })
	r.newestFirst.Store(&sorted)
}

// Keys are the keys for one purpose, derived from each version. They follow a later Set.
func (r *Roots) Keys(purpose string) Keys { return Keys{r, purpose} }

// Keys are the keys for one purpose: one of each root secret. The zero value has none.
type Keys struct {
	roots   *Roots
	purpose string
}

// OneKey is a purpose with one key, of version 1.
func OneKey(key []byte) Keys {
	return NewRoots(Version{Number: 1, Active: true, Keys: map[string][]byte{"": key}}).Keys("")
}

func (k Keys) versions() []Version {
	if k.roots == nil {
		return nil
	}
	return *k.roots.newestFirst.Load()
}

// None reports whether there is no key at all.
func (k Keys) None() bool { return len(k.versions()) == 0 }

// Newest is the key that makes what is new, and its version. It panics over a purpose that VersionOf does not know,
// because a signature under an empty key protects nothing.
func (k Keys) Newest() (version int16, key []byte) {
	for _, v := range k.versions() {
		if v.Active && !v.Retired {
			if v.Keys[k.purpose] == nil {
				panic("there is no key for " + k.purpose)
			}
			return v.Number, v.Keys[k.purpose]
		}
	}
	return 0, nil
}

// Oldest is the key of the first root secret. It is for what must stay the same when the secret is rotated.
func (k Keys) Oldest() []byte {
	for _, v := range slices.Backward(k.versions()) {
		if key := v.Keys[k.purpose]; v.Number > 0 && key != nil {
			return key
		}
	}
	return nil
}

// Version returns the key that was derived from one version. An error means that this process has not learned of the
// version yet, or has dropped it.
func (k Keys) Version(number int16) ([]byte, error) {
	for _, v := range k.versions() {
		if key := v.Keys[k.purpose]; v.Number == number && key != nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("version %d of the root secret is not known to this process", number)
}

// All are the keys that may have made a value, newest first. Among them are those of secrets that the process was
// given and that are not in use yet: another process may have learned of a rotation sooner.
func (k Keys) All() (keys [][]byte) {
	for _, v := range k.versions() {
		if key := v.Keys[k.purpose]; key != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// InUse are the keys of versions that are not retired, newest first.
func (k Keys) InUse() (keys [][]byte) {
	for _, v := range k.versions() {
		if v.Active && !v.Retired {
			keys = append(keys, v.Keys[k.purpose])
		}
	}
	return keys
}

// Seal encrypts a text under the newest key, for one place. The result names the key's version, unless that is 1.
func (k Keys) Seal(place, text string) (string, error) {
	version, key := k.Newest()
	sealed, err := Seal(key, place, text)
	if err != nil || version == 1 {
		return sealed, err
	}
	return SealedBy(version) + sealed, nil
}

// SealedBy is how a text begins that a version has sealed. Those of version 1 begin without one.
func SealedBy(version int16) string { return strconv.Itoa(int(version)) + "." }

// Open is the text that a version has sealed for a place.
func (k Keys) Open(place, sealed string) (text string, err error) {
	if _, rest, versioned := strings.Cut(sealed, "."); versioned {
		sealed = rest
	}
	err = fmt.Errorf("open: no root secret is known")
	for _, key := range k.All() { // a wrong key does not open it
		if text, err = Open(key, place, sealed); err == nil {
			return text, nil
		}
	}
	return "", err
}
