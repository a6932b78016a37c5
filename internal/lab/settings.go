package lab

import (
	"fmt"
	"strconv"
)

// Settings are the switches of a run, besides its fault. The recorded runs have none set.
type Settings struct {
	Retries     Retries `json:"retries,omitempty"`
	LockSeconds int     `json:"lock_seconds,omitempty"` // of the designs on Redis; 0: as the design has it
	Store       Store   `json:"store_when,omitempty"`   // of the designs on Redis; "": as the design has it
}

// Retries says what repeats a request that was not answered.
type Retries string

// What repeats a request. A worker is a background job with the same key; of Ratchet
// it is the completer in `ratchet work`.
const (
	ByClient Retries = "client" // and so does ""
	ByWorker Retries = "worker"
	ByBoth   Retries = "both"
)

// Store says when the answer leaves.
type Store string

// When the answer leaves.
const (
	Awaited     Store = "awaited"      // Redis has stored it
	AnswerFirst Store = "answer-first" // Redis stores it afterwards
)

// The life of the lock in Redis, in seconds.
const (
	shortestLock = 1
	longestLock  = 24 * 60 * 60
)

// Locks are lives of the lock to choose from, in seconds.
var Locks = []int{1, 2, 5, 30, 600, 3600, longestLock}

// ParseSettings reads the switches as people write them. An empty text is a switch that
// is not set.
func ParseSettings(retries, lock, store string) (s Settings, err error) {
	switch s.Retries = Retries(retries); s.Retries {
	case "", ByWorker, ByBoth:
	case ByClient:
		s.Retries = ""
	default:
		return s, fmt.Errorf("retries %q not found: client, worker or both", retries)
	}
	switch s.Store = Store(store); s.Store {
	case "", Awaited, AnswerFirst:
	default:
		return s, fmt.Errorf("store %q not found: awaited or answer-first", store)
	}
	if lock == "" {
		return s, nil
	}
	s.LockSeconds, err = strconv.Atoi(lock)
	if err != nil || s.LockSeconds < shortestLock || s.LockSeconds > longestLock {
		return s, fmt.Errorf("the lock lives from %d to %d seconds, not %q", shortestLock, longestLock, lock)
	}
	return s, nil
}

// For leaves out the switches that a design does not have.
func (s Settings) For(d Design) Settings {
	if !d.OnRedis() {
		s.LockSeconds, s.Store = 0, ""
	}
	if d.Queue {
		s.Retries = "" // the broker delivers again
	}
	return s
}

// Words are the switches that are set, for people.
func (s Settings) Words() (words []string) {
	switch s.Retries {
	case ByWorker:
		words = append(words, "retries by a worker")
	case ByBoth:
		words = append(words, "retries by the client and a worker")
	}
	if s.LockSeconds > 0 {
		words = append(words, "lock of "+LockInWords(s.LockSeconds))
	}
	switch s.Store {
	case Awaited:
		words = append(words, "stored, then answered")
	case AnswerFirst:
		words = append(words, "answered, then stored")
	}
	return words
}

// LockInWords is the life of a lock for people.
func LockInWords(seconds int) string {
	switch {
	case seconds >= 3600 && seconds%3600 == 0:
		return fmt.Sprintf("%d h", seconds/3600)
	case seconds >= 60 && seconds%60 == 0:
		return fmt.Sprintf("%d min", seconds/60)
	}
	return fmt.Sprintf("%d s", seconds)
}
