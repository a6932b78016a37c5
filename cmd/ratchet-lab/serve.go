package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/internal/lab/stand"
)

// serveCommand is the lab of a demo: it runs what the pages ask for. The demo
// starts it when that happens first. It serves no pages, so it is not what is
// killed, and it tells the story of what is.
func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lab", Hidden: true, Args: cobra.NoArgs,
		Short: "Run the lab of a demo",
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := net.Listen("tcp", os.Getenv(page.AddrVariable))
			if err != nil {
				return err
			}
			k := &keeper{dir: os.Getenv(page.RunsVariable), ctx: cmd.Context()}
			defer k.close()
			if err := os.MkdirAll(k.dir, 0o700); err != nil {
				return err
			}
			server := &http.Server{Handler: k.handler(), ReadHeaderTimeout: 5 * time.Second}
			slog.New(slog.NewJSONHandler(os.Stderr, nil)).Info("the lab is ready", "addr", l.Addr().String())
			ended := make(chan error, 1)
			go func() { ended <- server.Serve(l) }()
			select {
			case err := <-ended:
				return err
			case <-cmd.Context().Done():
				return server.Close()
			}
		},
	}
}

// keeper runs orders, one at a time, and keeps the runs as files.
type keeper struct {
	dir string
	ctx context.Context

	mu    sync.Mutex // held during a run
	stand *stand.Stand
	end   func()
}

func (k *keeper) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /runs", k.post)
	mux.HandleFunc("GET /runs/{id}", k.get)
	return mux
}

func (k *keeper) post(w http.ResponseWriter, r *http.Request) {
	d, known := lab.FindDesign(r.FormValue("design"))
	f, knownToo := lab.FindFault(r.FormValue("fault"))
	if !known || !knownToo {
		http.Error(w, "design or fault not found", http.StatusBadRequest)
		return
	}
	name, err := k.run(d, f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page.Ran{ID: name}) // who asked may have gone
}

// run takes one order through a design. The run goes on when its reader hangs up.
func (k *keeper) run(d lab.Design, f lab.Fault) (name string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stand == nil {
		if k.stand, k.end, err = openStand(k.ctx, false); err != nil {
			return "", err
		}
	}
	r, err := k.stand.Run(k.ctx, d, f, nil)
	if err != nil {
		return "", err
	}
	var file strings.Builder
	if err := r.Write(&file); err != nil {
		return "", err
	}
	name = id.New("run", time.Now())
	return name, os.WriteFile(k.file(name), []byte(file.String()), 0o600)
}

var runName = regexp.MustCompile(`^run_[A-Za-z0-9]+$`)

func (k *keeper) file(name string) string { return filepath.Join(k.dir, name+".ndjson") }

func (k *keeper) get(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("id")
	if !runName.MatchString(name) {
		http.NotFound(w, r)
		return
	}
	text, err := os.ReadFile(k.file(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, fmt.Sprintf("read the run: %v", err), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = w.Write(text)
	}
}

func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.end != nil {
		k.end()
	}
}
