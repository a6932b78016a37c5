package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time in /proc: a hundredth of a second on every
// Linux that Go runs on.
const tick = 10 * time.Millisecond

// usage is the processor time that each part has used so far.
type usage map[string]time.Duration

// usage reads /proc. Elsewhere than on Linux it is empty, and nothing is said.
func (b *bench) usage() usage {
	parts := map[int]string{os.Getpid(): "clients", b.server.PID(): "postgres"}
	for i, cmd := range b.running {
		parts[cmd.Process.Pid] = b.parts[i]
	}
	used := usage{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		_, rest, _ := strings.Cut(string(stat), ") ") // the name before may hold anything
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		name, known := parts[pid]
		if !known && parent == b.server.PID() {
			name, known = "postgres", true
		}
		if known {
			user, _ := strconv.ParseInt(fields[11], 10, 64)
			system, _ := strconv.ParseInt(fields[12], 10, 64)
			used[name] += time.Duration(user+system) * tick
		}
	}
	return used
}

// per says how much of each part one piece of work took, in microseconds.
func (u usage) per(before usage, pieces int) string {
	var out []string
	for _, name := range []string{"postgres", "serve", "acquirer", "work", "clients"} {
		if spent := u[name] - before[name]; spent > 0 && pieces > 0 {
			out = append(out, fmt.Sprintf("%s %d", name, (spent/time.Duration(pieces)).Microseconds()))
		}
	}
	return strings.Join(out, ", ")
}
