package demo

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/ratchet-pay/ratchet/internal/supervisor"
)

// supervise lets serve's pages kill the demo's processes, from now until stop.
func (d *demo) supervise() error {
	listener, err := net.Listen("tcp", d.supervisorAddr)
	if err != nil {
		return fmt.Errorf("listen for the supervisor: %w", err)
	}
	d.supervisorSecret = rand.Text()
	d.supervisor = &http.Server{
		Handler:           supervisor.Handler(d.supervisorSecret, d.killer),
		ReadHeaderTimeout: 5 * time.Second,
	}
	go func() { _ = d.supervisor.Serve(listener) }() // ends with stop
	return nil
}

// environOfServe is what serve needs to know: besides the rest, how to reach the supervisor.
func (d *demo) environOfServe() []string {
	return append(d.environOf("serve"), supervisor.URLVariable+"=http://"+d.supervisorAddr,
		supervisor.SecretVariable+"="+d.supervisorSecret)
}

// mayBeKilled lets pages kill these parts from now on.
func (d *demo) mayBeKilled(parts ...*child) {
	d.partsMu.Lock()
	defer d.partsMu.Unlock()
	d.parts = parts
}

// killer is what kills one of the demo's processes, or nil.
func (d *demo) killer(process string) func() {
	d.partsMu.Lock()
	defer d.partsMu.Unlock()
	for _, c := range d.parts {
		if process == c.name || process == strconv.FormatInt(c.pid.Load(), 10) {
			pid := c.pid.Load()
			return func() {
				d.console.sayf("a page kills %s %d", c.name, pid)
				c.kill(pid)
			}
		}
	}
	return nil
}
