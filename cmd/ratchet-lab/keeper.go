package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/internal/lab/runner"
)

// keeper makes the runs that the pages ask for, and keeps them as files.
type keeper struct {
	dir string
	ctx context.Context

	running sync.Mutex // held during runs: one reader's after the other's
	runner  *runner.Runner
	end     func()

	mu       sync.Mutex
	matrices map[string]*page.Progress
}

func newKeeper(ctx context.Context, dir string) *keeper {
	return &keeper{dir: dir, ctx: ctx, matrices: map[string]*page.Progress{}}
}

func (k *keeper) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /runs", k.postRuns)
	mux.HandleFunc("POST /traces", k.postTrace)
	mux.HandleFunc("POST /matrices", k.postMatrix)
	mux.HandleFunc("GET /matrices/{id}", k.getMatrix)
	mux.HandleFunc("GET /runs/{id}", k.getRun)
	return mux
}

// atMost bounds the designs that are run beside each other for one reader.
const atMost = 16

func (k *keeper) postRuns(w http.ResponseWriter, r *http.Request) {
	cases, err := casesOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ran, err := k.run(cases, len(cases), func(page.Ran) {})
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	answer(w, ran)
}

// casesOf are the runs that a form asks for.
func casesOf(r *http.Request) ([]lab.Case, error) {
	settings, err := lab.ParseSettings(r.FormValue("retries"), r.FormValue("lock"), r.FormValue("store"))
	if err != nil {
		return nil, err
	}
	designs, err := chosenDesigns(strings.Join(r.Form["design"], ","))
	if err != nil {
		return nil, err
	}
	faults, err := chosenFaults(r.FormValue("fault"))
	if err != nil {
		return nil, err
	}
	cases := lab.Cases(designs, faults, settings)
	if len(cases) == 0 || len(cases) > atMost {
		return nil, fmt.Errorf("%d designs at once: from 1 to %d", len(cases), atMost)
	}
	return cases, nil
}

func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what) // the reader may have gone
}

// run makes runs and keeps them, in the order of the cases. They go on when their reader
// hangs up.
func (k *keeper) run(cases []lab.Case, atOnce int, done func(page.Ran)) (all []page.Ran, err error) {
	k.running.Lock()
	defer k.running.Unlock()
	if k.runner == nil {
		if k.runner, k.end, err = openRunner(k.ctx, cases, false); err != nil {
			return nil, err
		}
	}
	var failure error
	err = k.runner.RunAll(k.ctx, cases, atOnce, func(r lab.Run) {
		name, err := k.keep(r)
		if err != nil {
			failure = err
			return
		}
		all = append(all, page.Ran{ID: name, Run: r})
		done(all[len(all)-1])
	})
	place := func(r page.Ran) int {
		return slices.IndexFunc(cases, func(c lab.Case) bool {
			return c.Design.Name == r.Run.Design && c.Fault.Name == r.Run.Fault
		})
	}
	slices.SortFunc(all, func(a, b page.Ran) int { return cmp.Compare(place(a), place(b)) })
	return all, errors.Join(err, failure)
}

// keep writes a run to a file.
func (k *keeper) keep(r lab.Run) (name string, err error) {
	var file strings.Builder
	if err := r.Write(&file); err != nil {
		return "", err
	}
	name = id.New("run", time.Now())
	return name, errors.Join(os.WriteFile(k.file(name), []byte(file.String()), 0o600), k.forget())
}

// keptRuns is how many runs are kept. The oldest are deleted.
const keptRuns = 2000

func (k *keeper) forget() error {
	files, err := filepath.Glob(filepath.Join(k.dir, "run_*.ndjson"))
	if err != nil || len(files) <= keptRuns {
		return err
	}
	slices.Sort(files) // their ids are ordered by time
	for _, old := range files[:len(files)-keptRuns] {
		err = errors.Join(err, os.Remove(old))
	}
	return err
}

// postTrace keeps an uploaded run.
func (k *keeper) postTrace(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, lab.MaxTrace+1))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	run, err := lab.ReadTrace(string(text))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	run.Uploaded = true
	name, err := k.keep(run)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	answer(w, page.Ran{ID: name, Run: run})
}

// postMatrix begins to run everything. A second reader gets the matrix that is running.
func (k *keeper) postMatrix(w http.ResponseWriter, _ *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, p := range k.matrices {
		if !p.Over {
			answer(w, page.Ran{ID: name})
			return
		}
	}
	cases := lab.Cases(lab.Designs, lab.Faults, lab.Settings{})
	name := id.New("matrix", time.Now())
	p := &page.Progress{Of: len(cases)}
	k.matrices[name] = p
	go k.runMatrix(name, p, cases)
	answer(w, page.Ran{ID: name})
}

func (k *keeper) runMatrix(name string, p *page.Progress, cases []lab.Case) {
	began := time.Now()
	_, err := k.run(cases, runner.AtOnce, func(r page.Ran) {
		k.mu.Lock()
		defer k.mu.Unlock()
		p.Done = append(p.Done, r)
		p.MS = time.Since(began).Milliseconds()
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	p.Over, p.MS = true, time.Since(began).Milliseconds()
	text, failure := json.Marshal(p)
	if failure == nil {
		failure = os.WriteFile(filepath.Join(k.dir, name+".json"), text, 0o600)
	}
	if err = errors.Join(err, failure); err != nil {
		p.Failed = err.Error()
	}
}

var (
	runName    = regexp.MustCompile(`^run_[A-Za-z0-9]+$`)
	matrixName = regexp.MustCompile(`^matrix_[A-Za-z0-9]+$`)
)

func (k *keeper) getMatrix(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("id")
	k.mu.Lock()
	defer k.mu.Unlock()
	if p, running := k.matrices[name]; running {
		answer(w, p)
		return
	}
	if !matrixName.MatchString(name) {
		http.NotFound(w, r)
		return
	}
	sendFile(w, r, filepath.Join(k.dir, name+".json"), "application/json")
}

func (k *keeper) file(name string) string { return filepath.Join(k.dir, name+".ndjson") }

func (k *keeper) getRun(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("id")
	if !runName.MatchString(name) {
		http.NotFound(w, r)
		return
	}
	sendFile(w, r, k.file(name), "application/x-ndjson")
}

func sendFile(w http.ResponseWriter, r *http.Request, path, contentType string) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, fmt.Sprintf("read the run: %v", err), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(text) // the reader may have gone
	}
}

func (k *keeper) close() {
	k.running.Lock()
	defer k.running.Unlock()
	if k.end != nil {
		k.end()
	}
}
