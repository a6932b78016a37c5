package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/ratchet-pay/ratchet/internal/port"
)

// demoKey is the secret key of every demo.
const demoKey = "sk_test_ratchet_demo"

// demo is a running `ratchet demo`, with its own data.
type demo struct {
	url     string
	process *exec.Cmd
	dir     string
}

// startWithin is beyond what a demo needs, the download of PostgreSQL included.
const startWithin = 3 * time.Minute

func startDemo(ctx context.Context, binary string) (*demo, error) {
	if binary == "" {
		return nil, errors.New("needs -binary or -url")
	}
	dir, err := os.MkdirTemp("", "ratchet-matrix-demo-")
	if err != nil {
		return nil, err
	}
	address, err := port.Reserve()
	if err != nil {
		return nil, err
	}
	d := &demo{url: "http://" + address, dir: dir}
	d.process = exec.Command(binary, "demo", "--empty", "--addr", address, "--data-dir", dir,
		"--webhook-loopback-ports", "any")
	d.process.Stderr = os.Stderr
	if err := d.process.Start(); err != nil {
		return nil, err
	}
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < startWithin; time.Sleep(200 * time.Millisecond) {
		if d.answers() {
			return d, nil
		}
	}
	d.stop()
	return nil, fmt.Errorf("the demo did not answer at %s", d.url)
}

func (d *demo) answers() bool {
	request, err := http.NewRequest(http.MethodGet, d.url+"/v1/account", nil)
	if err != nil {
		return false
	}
	request.SetBasicAuth(demoKey, "")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// stop ends the demo as Ctrl-C does, so that it ends its own processes.
func (d *demo) stop() {
	_ = d.process.Process.Signal(syscall.SIGINT) // it may have ended
	_ = d.process.Wait()                         // however it ended
	_ = os.RemoveAll(d.dir)                      // what stays is in a temporary folder
}
