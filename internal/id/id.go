// Package id generates the IDs of all API objects.
//
// An id is a prefix, eight base-62 digits of milliseconds and sixteen random
// ones: "ch_0VbTq1s3" + "k2…". Ids made later sort later, byte for byte, so a
// primary key on (account, id) lists newest first without a second index, and
// inserts touch the right edge of the index instead of a random page. The
// random part is 95 bits: another account's ID cannot be guessed.
package id

import (
	"crypto/rand"
	"strings"
	"time"
)

// digits are in ASCII order, so that comparing two ids as bytes compares their times.
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const (
	timeDigits   = 8  // 62^8 milliseconds last until the year 8888
	randomDigits = 16 // 62^16 is 95 bits
)

// Latest is a time that ids can still encode.
var Latest = time.Date(8888, 1, 1, 0, 0, 0, 0, time.UTC)

// New returns an id such as "ch_0VbTq1s3Zk…" for something made at the given time.
// The time should be the database's, like every time that is stored.
func New(prefix string, at time.Time) string {
	var out strings.Builder
	out.Grow(len(prefix) + 1 + timeDigits + randomDigits)
	out.WriteString(prefix)
	out.WriteByte('_')
	out.WriteString(EncodeTime(at))
	out.WriteString(Random(randomDigits))
	return out.String()
}

// Ordered is like New, for the n-th of several ids made at one time, which sort
// in the order of n. It takes the first two random digits: 83 bits stay random.
// From 62·62 on, ids have the last place in common and any order among themselves.
func Ordered(prefix string, at time.Time, n int) string {
	n = min(n, len(digits)*len(digits)-1)
	place := string([]byte{digits[n/len(digits)], digits[n%len(digits)]})
	return prefix + "_" + EncodeTime(at) + place + Random(randomDigits-len(place))
}

// EncodeTime is the time part of an id: milliseconds since 1970 in base 62,
// padded so that all of them have one length.
func EncodeTime(at time.Time) string {
	ms := at.UnixMilli()
	var encoded [timeDigits]byte
	for i := timeDigits - 1; i >= 0; i-- {
		encoded[i] = digits[ms%62]
		ms /= 62
	}
	return string(encoded[:])
}

// Random returns n random base-62 digits from the system's secure source.
func Random(n int) string {
	// 248 = 4·62: bytes above it are drawn again, or the first digits of the
	// alphabet would come up more often than the last ones.
	const limit = 248
	out := make([]byte, 0, n)
	var pool [32]byte
	for {
		rand.Read(pool[:]) // never fails: it ends the program rather than return weak bytes
		for _, b := range pool {
			if b >= limit {
				continue
			}
			if out = append(out, digits[b%62]); len(out) == n {
				return string(out)
			}
		}
	}
}
