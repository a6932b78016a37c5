//go:build unix

package pgtest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Standby makes a second server that follows d by streaming replication, and
// returns it. synchronous makes every commit on d wait until the standby has it on
// disk. d is restarted. The standby can be read from; Promote makes it a primary.
//
// It is a copy of d's files, made while d is down: that needs no program but the
// server's own, which is all that the pinned download has.
func (d *DurableServer) Standby(synchronous bool) *DurableServer {
	d.t.Helper()
	d.Pool.Close()
	d.stop()

	dir, err := os.MkdirTemp("", "ratchet-standby-")
	if err != nil {
		d.t.Fatalf("pgtest: %v", err)
	}
	s := &DurableServer{t: d.t, stateDir: dir}
	d.t.Cleanup(s.end)
	if out, err := exec.Command("cp", "-a", d.stateDir+"/.", dir).CombinedOutput(); err != nil {
		d.t.Fatalf("pgtest: copy the primary: %v\n%s", err, out)
	}
	for _, mark := range []string{"port", "url", "lock"} { // they are the primary's
		if err := os.Remove(filepath.Join(dir, mark)); err != nil && !os.IsNotExist(err) {
			d.t.Fatalf("pgtest: %v", err)
		}
	}
	signal := filepath.Join(dir, "postgres", "data", "standby.signal")
	if err := os.WriteFile(signal, nil, 0o644); err != nil {
		d.t.Fatalf("pgtest: %v", err)
	}

	s.choosePort()
	d.settings = append(d.settings, "wal_level=replica", "max_wal_senders=4")
	if synchronous {
		d.settings = append(d.settings, "synchronous_standby_names=*")
	}
	d.start()
	s.settings = []string{"hot_standby=on", "primary_conninfo=" + conninfo(d.t, d.URL)}
	s.start()
	return s
}

// conninfo is a server's address as another server wants it.
func conninfo(t testing.TB, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	password, _ := u.User.Password()
	return fmt.Sprintf("host=%s port=%s user=%s password=%s", u.Hostname(), u.Port(), u.User.Username(), password)
}

// Promote makes a standby a primary, and returns when it takes writes.
func (d *DurableServer) Promote() {
	d.t.Helper()
	var promoted bool
	err := pgx.BeginFunc(d.t.Context(), d.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(d.t.Context(), "SET LOCAL statement_timeout = '1min'"); err != nil {
			return err
		}
		return tx.QueryRow(d.t.Context(), "SELECT pg_promote()").Scan(&promoted)
	})
	if err != nil || !promoted {
		d.t.Fatalf("pgtest: promote the standby: %v, %v", promoted, err)
	}
	d.Pool.Reset() // its sessions began when nothing could be written
}

// StopFollowing makes a standby miss what its primary commits from now on.
func (d *DurableServer) StopFollowing() {
	d.t.Helper()
	d.settings = d.settings[:1] // the address of the primary is gone
	d.Restart()
}

// Either is the address of whichever of two servers takes writes.
func (d *DurableServer) Either(other *DurableServer) string {
	d.t.Helper()
	first, err := url.Parse(d.URL)
	if err != nil {
		d.t.Fatalf("pgtest: %v", err)
	}
	second, err := url.Parse(other.URL)
	if err != nil {
		d.t.Fatalf("pgtest: %v", err)
	}
	query := first.Query()
	query.Set("target_session_attrs", "read-write")
	first.Host, first.RawQuery = first.Host+","+second.Host, query.Encode()
	return first.String()
}
