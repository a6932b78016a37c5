package main

import (
	"fmt"
	"io"
	"slices"
)

// row is what all rounds of a workload came to: medians, and medians of the
// ratios to the yardstick of the same round.
type row struct {
	clients  int
	workload string
	result
	rateRatio, cpuRatio float64 // of our PostgreSQL's processor time
	rates               []float64
}

func summarize(clients int, workload string, rounds, yardstick []result) row {
	middle := func(of func(r result) float64) float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, of(r))
		}
		return median(values)
	}
	out := row{clients: clients, workload: workload, result: result{
		rate: middle(func(r result) float64 { return r.rate }), answered: middle(func(r result) float64 { return r.answered }),
		p50: middle(func(r result) float64 { return r.p50 }), p95: middle(func(r result) float64 { return r.p95 }),
		p99: middle(func(r result) float64 { return r.p99 }), wal: middle(func(r result) float64 { return r.wal }),
		disk: middle(func(r result) float64 { return r.disk }), commits: middle(func(r result) float64 { return r.commits }),
		cpu: map[string]float64{},
	}}
	for _, part := range parts {
		out.cpu[part] = middle(func(r result) float64 { return r.cpu[part] })
	}
	var rates, cpu []float64
	for i, r := range rounds {
		rates, cpu = append(rates, r.rate/yardstick[i].rate), append(cpu, r.cpu[ourPostgres]/yardstick[i].cpu[ourPostgres])
		out.rates = append(out.rates, r.rate)
	}
	out.rateRatio, out.cpuRatio = median(rates), median(cpu)
	return out
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// printTable shows one number of clients to a person.
func printTable(w io.Writer, clients int, rows []row) {
	fmt.Fprintf(w, "\n%d clients; processor time in µs, WAL and disk in bytes, each for one done\n", clients)
	fmt.Fprintf(w, "%-26s %8s %6s %8s %8s %8s |", "", "per s", "ratio", "p50 ms", "p95 ms", "p99 ms")
	for _, part := range parts {
		fmt.Fprintf(w, " %11s", part)
	}
	fmt.Fprintf(w, " %6s | %7s %7s %7s\n", "ratio", "WAL", "disk", "commits")
	for _, r := range rows {
		fmt.Fprintf(w, "%-26s %8.0f %6.2f %8.2f %8.2f %8.2f |", r.workload, r.rate, r.rateRatio, r.p50, r.p95, r.p99)
		for _, part := range parts {
			fmt.Fprintf(w, " %11.0f", r.cpu[part])
		}
		fmt.Fprintf(w, " %6.2f | %7.0f %7.0f %7.2f\n", r.cpuRatio, r.wal, r.disk, r.commits)
	}
	compare(w, rows)
}

// compare says how workloads stand to each other.
func compare(w io.Writer, rows []row) {
	rate := map[string]float64{}
	for _, r := range rows {
		rate[r.workload] = r.rate
	}
	if rate["charges"] == 0 {
		return
	}
	if hot := rate["hot merchant"]; hot > 0 {
		fmt.Fprintf(w, "hot merchant / spread: %.2f\n", hot/rate["charges"])
	}
	if replays := rate["replays"]; replays > 0 {
		fmt.Fprintf(w, "replays / charges: %.1f\n", replays/rate["charges"])
	}
}

// printRaw prints everything as a table in Markdown, for docs/performance.md.
func printRaw(w io.Writer, rows []row) {
	fmt.Fprint(w, "\n| clients | workload | per s | ratio | answered per s | p50 ms | p95 ms | p99 ms |")
	for _, part := range parts {
		fmt.Fprintf(w, " %s µs |", part)
	}
	fmt.Fprint(w, " PG ratio | WAL B | disk B | commits | rounds, per s |\n|")
	for range 8 + len(parts) + 5 {
		fmt.Fprint(w, "---|")
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		fmt.Fprintf(w, "| %d | %s | %.0f | %.3f | %.0f | %.2f | %.2f | %.2f |", r.clients, r.workload, r.rate, r.rateRatio, r.answered, r.p50, r.p95, r.p99)
		for _, part := range parts {
			fmt.Fprintf(w, " %.0f |", r.cpu[part])
		}
		fmt.Fprintf(w, " %.2f | %.0f | %.0f | %.2f |", r.cpuRatio, r.wal, r.disk, r.commits)
		for _, rate := range r.rates {
			fmt.Fprintf(w, " %.0f", rate)
		}
		fmt.Fprintln(w, " |")
	}
}
