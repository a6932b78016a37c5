package lab

import (
	"bytes"
	"embed"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Matrix is a run of each design under each fault.
type Matrix []Run

// Find returns the run of a design under a fault.
func (m Matrix) Find(design, fault string) (Run, bool) {
	i := slices.IndexFunc(m, func(r Run) bool { return r.Design == design && r.Fault == fault })
	if i < 0 {
		return Run{}, false
	}
	return m[i], true
}

// Record writes the runs into a directory, one file per design.
func (m Matrix) Record(dir string) error {
	for _, d := range Designs {
		var file bytes.Buffer
		for _, f := range Faults {
			r, is := m.Find(d.Name, f.Name)
			if !is {
				continue
			}
			if err := r.Write(&file); err != nil {
				return err
			}
		}
		if file.Len() == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, d.Name+".ndjson"), file.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

//go:embed recorded
var recorded embed.FS

// Recorded is the matrix of the repository: each run was recorded from processes
// that were killed for real (`make lab-record`).
var Recorded = sync.OnceValues(func() (Matrix, error) {
	var all Matrix
	for _, d := range Designs {
		text, err := recorded.ReadFile("recorded/" + d.Name + ".ndjson")
		if err != nil {
			return nil, err
		}
		runs, err := Read(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		all = append(all, runs...)
	}
	return all, nil
})
