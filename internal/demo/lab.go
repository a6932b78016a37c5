package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ratchet-pay/ratchet/internal/lab/binary"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
)

// labProcess is the demo's lab. Its process is built and started when a user
// runs something on its pages, and not before.
type labProcess struct {
	demo  *demo
	addr  string // of the lab's own process
	proxy *httputil.ReverseProxy

	server *http.Server

	mu    sync.Mutex
	child *child
}

// startLab answers at labAddr from now on.
func (d *demo) startLab(ctx context.Context) error {
	listener, err := net.Listen("tcp", d.labAddr)
	if err != nil {
		return fmt.Errorf("listen for the lab: %w", err)
	}
	l := &labProcess{demo: d, addr: d.labProcessAddr}
	l.proxy = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: l.addr})
	l.server = &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := l.ready(context.WithoutCancel(ctx)); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			l.proxy.ServeHTTP(w, r)
		}),
	}
	go func() { _ = l.server.Serve(listener) }() // ends with stop
	d.lab = l
	return nil
}

// ready returns when the lab's process answers.
func (l *labProcess) ready(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.child != nil {
		return nil
	}
	program, err := binary.Find(ctx, func(text string) { l.demo.console.sayf("%s", text) })
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c, err := startChild(l.demo.console, "lab", program, l.demo.dir.log("lab"), []string{
		page.AddrVariable + "=" + l.addr, page.RunsVariable + "=" + filepath.Join(l.demo.dir.path, "lab"),
		binary.RatchetVariable + "=" + self, "DATABASE_URL=" + l.demo.books.ratchet})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := answers(ctx, c, "http://"+l.addr+"/"); err != nil {
		c.stop()
		return errors.Join(errors.New("the lab does not start"), err)
	}
	l.child = c
	return nil
}

func (l *labProcess) stop() {
	_ = l.server.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.child != nil {
		l.child.stop()
	}
}
