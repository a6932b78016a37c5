package checkout

import (
	"errors"
	"net/http"
	"os"
	"strconv"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/supervisor"
)

// crash is what a demo's buyer wants to kill while the card is charged. Its name is part of
// the address of the page: ?crash=server.
type crash struct{ Name, Verb, process string }

var crashes = []crash{
	{"server", "Kill the server", supervisor.Server},
	{"worker", "Kill the worker", supervisor.Worker},
}

// slowest is the fault that leaves time to kill something.
const slowest = "slow:8000"

func crashOf(name string) *crash {
	for i := range crashes {
		if crashes[i].Name == name {
			return &crashes[i]
		}
	}
	return nil
}

// kill has the demo kill a process while the card is charged. The server is this process.
func (s *Server) kill(w http.ResponseWriter, r *http.Request) {
	if s.across.Check(r) != nil || !api.LoopbackHost(r.Host) {
		http.Error(w, langOf(r).Say("unverified_form"), http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyBytes)
	victim := crashOf(r.PostFormValue("crash"))
	if victim == nil {
		http.Error(w, "Process not found.", http.StatusBadRequest)
		return
	}
	process := victim.process
	if process == supervisor.Server {
		process = strconv.Itoa(os.Getpid())
	}
	err := s.Supervisor.Kill(r.Context(), process)
	switch {
	case errors.Is(err, supervisor.ErrNotFound):
		http.Error(w, "Process not found in this demo.", http.StatusNotFound)
	case err != nil:
		s.Log.Error("kill", "process", process, "error", err)
		http.Error(w, "not available", http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusNoContent) // the buyer stays on the page
	}
}
