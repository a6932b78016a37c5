package telemetry

import (
	"net/http"
	"net/http/pprof"
)

// ProfilePath is where a process shows its profiles.
const ProfilePath = "/debug/pprof/"

// Profiles answers the requests of `go tool pprof` below ProfilePath. A profile
// shows which functions run and allocate; it holds no values.
func Profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(ProfilePath, pprof.Index) // also heap, goroutine, mutex and the like, by name
	mux.HandleFunc(ProfilePath+"profile", pprof.Profile)
	mux.HandleFunc(ProfilePath+"trace", pprof.Trace)
	mux.HandleFunc(ProfilePath+"symbol", pprof.Symbol)
	return mux
}
