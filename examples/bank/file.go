//go:build unix

package bank

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Bank keeps its books in a file. Several processes may open the same one.
type Bank struct {
	mu   sync.Mutex
	file *os.File
	read int64 // so much of the file has been applied

	operations map[string]*operation // by key
	references map[string]*operation // by the bank's id of it
	payments   map[string]*payment   // by the id of the authorization or payout
	history    []*operation          // oldest first, reversals included
	parts      []acquirer.SettledPart

	acknowledged map[string]time.Time // ids of parts, since this process began
	resends      int                  // how often Resend was called
}

// record is a line of the file.
type record struct {
	At      time.Time
	Key     string                `json:",omitempty"`
	Verb    acquirer.Verb         `json:",omitempty"`
	Order   acquirer.Order        `json:",omitzero"`
	Result  acquirer.Result       `json:",omitzero"`
	Settled *acquirer.SettledPart `json:",omitempty"`
	// Reversal undoes Key and leaves a tombstone there.
	Reversal bool `json:",omitempty"`
}

// Open opens the file with the books, and creates it if it does not exist.
func Open(path string) (*Bank, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the bank's books: %w", err)
	}
	return &Bank{
		file:       file,
		operations: map[string]*operation{},
		references: map[string]*operation{},
		payments:   map[string]*payment{},

		acknowledged: map[string]time.Time{},
	}, nil
}

// Close implements acquirer.Adapter. What is asked of a closed bank is not sent.
func (b *Bank) Close() { _ = b.file.Close() }

// locked runs act while no other process or goroutine has the books, and after it has
// read what they wrote. Its own errors come before anything was written.
func (b *Bank) locked(act func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := syscall.Flock(int(b.file.Fd()), syscall.LOCK_EX); err != nil {
		return phase.NotSent(fmt.Errorf("lock the bank's books: %w", err))
	}
	defer func() { _ = syscall.Flock(int(b.file.Fd()), syscall.LOCK_UN) }()
	if err := b.catchUp(); err != nil {
		return phase.NotSent(fmt.Errorf("read the bank's books: %w", err))
	}
	return act()
}

// catchUp applies what was written since the last time. It removes a last line that has
// no end: its writer died before it answered.
func (b *Bank) catchUp() error {
	if _, err := b.file.Seek(b.read, io.SeekStart); err != nil {
		return err
	}
	for lines := bufio.NewReader(b.file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) > 0 {
			return b.file.Truncate(b.read)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		b.apply(r)
		b.read += int64(len(line))
	}
}

// append writes a record, which is when the money moves and the key is used: one write
// does both. An error after that means that the outcome is unknown.
func (b *Bank) append(r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return phase.NotSent(err)
	}
	if _, err := b.file.WriteAt(append(line, '\n'), b.read); err != nil {
		return fmt.Errorf("write the bank's books: %w", err)
	}
	if err := b.file.Sync(); err != nil {
		return fmt.Errorf("write the bank's books: %w", err)
	}
	return b.catchUp()
}
