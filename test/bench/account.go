package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/test/deployment"
)

// Processes whose CPU time is measured separately.
const (
	ourPostgres   = "postgres"    // the sessions of our database
	theirPostgres = "acquirer db" // all of the acquirer's server
	background    = "postgres bg" // of our server: checkpoints, WAL writer, vacuum
	clients       = "clients"     // this program
)

// parts in the order in which they are printed.
var parts = []string{ourPostgres, background, "serve", "work", "acquirer", theirPostgres, clients}

// reading is what has been used and written so far.
type reading struct {
	at      time.Time
	cpu     map[string]time.Duration
	wal     int64 // bytes, of our server
	commits int64 // transactions that wrote, of our server
	disk    int64 // bytes, of our database with its indexes
	settled int64
}

const (
	// readServer does not take a transaction id itself.
	readServer = `
		SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
		  pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_database_size($1::name)`
	// listSessions leaves out this program's own sessions of our database.
	listSessions = `
		SELECT pid, coalesce(datname, '') FROM pg_stat_activity WHERE application_name <> 'deployment'`
	countSettled = `SELECT count(*) FROM settlements WHERE movement = 'sale'`
)

// database is whose disk is read: ours or the yardstick's.
func (b *bench) read(ctx context.Context, database string) (*reading, error) {
	r := &reading{cpu: map[string]time.Duration{}}
	if err := b.Pool.QueryRow(ctx, readServer, database).Scan(&r.wal, &r.commits, &r.disk); err != nil {
		return nil, fmt.Errorf("read the server: %w", err)
	}
	if database == deployment.Ours {
		if err := b.Pool.QueryRow(ctx, countSettled).Scan(&r.settled); err != nil {
			return nil, fmt.Errorf("count settlements: %w", err)
		}
	}
	of, err := b.processes(ctx, database)
	if err != nil {
		return nil, err
	}
	for pid, part := range of {
		r.cpu[part] += processorTime(pid)
	}
	r.at = time.Now()
	return r, nil
}

// processes says which part each process belongs to. Sessions of the database that
// is not measured belong to none: ours looks around while the yardstick runs.
func (b *bench) processes(ctx context.Context, database string) (map[int]string, error) {
	of := map[int]string{os.Getpid(): clients}
	for _, name := range []string{"serve", "work", "acquirer"} {
		for _, pid := range b.PIDs(name) {
			of[pid] = name
		}
	}
	for pid, parent := range parents() {
		if parent == b.Theirs.PID() || pid == b.Theirs.PID() {
			of[pid] = theirPostgres
		}
	}
	rows, err := b.Pool.Query(ctx, listSessions)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var pid int
		var name string
		if err := rows.Scan(&pid, &name); err != nil {
			return nil, err
		}
		switch name {
		case database:
			of[pid] = ourPostgres
		case "":
			of[pid] = background
		}
	}
	return of, rows.Err()
}

// parents reads /proc: the parent of every process.
func parents() map[int]int {
	of := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		_, rest, _ := strings.Cut(string(stat), ") ") // the name before may hold anything
		if fields := strings.Fields(rest); len(fields) > 1 {
			of[pid], _ = strconv.Atoi(fields[1])
		}
	}
	return of
}

// processorTime is what all threads of a process have used, to the nanosecond, as
// the scheduler counts it. A session that has ended counts no more: sessions last
// longer than a measurement.
func processorTime(pid int) (sum time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		used, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(used, 10, 64)
		sum += time.Duration(ns)
	}
	return sum
}

// resident is the memory of serve, in bytes.
func (b *bench) resident() int64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(b.PID("serve")) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(status))
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
