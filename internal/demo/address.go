package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/ratchet-pay/ratchet/internal/port"
)

// resolve checks who could reach an address. The demo's keys are public, so
// only this machine may, unless that is asked for.
func resolve(addr string, lan bool) (*net.TCPAddr, error) {
	address, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, &Refusal{fmt.Sprintf("--addr %s is not a listen address such as 127.0.0.1:8080: %v", addr, err)}
	}
	if !lan && !address.IP.IsLoopback() {
		return nil, &Refusal{fmt.Sprintf("--addr %s is reachable from other machines, and the demo's API keys are "+
			"public: use 127.0.0.1, or pass --lan to confirm", addr)}
	}
	return address, nil
}

// claimPort finds out whether the API will be able to listen, before anything is
// started. Port 0 becomes a free one.
func claimPort(address *net.TCPAddr) (addr string, err error) {
	if address.Port == 0 && address.IP.Equal(net.IPv4(127, 0, 0, 1)) {
		return port.Reserve()
	}
	listener, err := net.ListenTCP("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return "", fmt.Errorf("%s is already in use; choose another port with --addr 127.0.0.1:%d", address,
			address.Port+1)
	}
	if err != nil {
		return "", fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// innerPorts are any free ones: only the demo's processes need to find the acquirer,
// and two demos that start at once would compete for fixed ports. They stay reserved
// while a part is down, so a part that was killed gets its port back. None is the
// API's, which is free, too, until the API is started.
func innerPorts(apis string, n int) (addrs []string, err error) {
	for len(addrs) < n {
		addr, err := port.Reserve()
		if err != nil {
			return nil, err
		}
		if portOf(addr) != portOf(apis) {
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// baseURL is how a client on this machine reaches an address.
func baseURL(addr string) string {
	address, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil || !address.IP.IsUnspecified() {
		return "http://" + addr
	}
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(address.Port))
}

// answers waits until a part answers a request with anything at all.
func answers(ctx context.Context, c *child, url string) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		select {
		case err := <-c.failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("%s does not respond at %s; its log is %s", c.name, url, c.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
