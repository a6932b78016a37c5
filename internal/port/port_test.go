package port

import (
	"net"
	"runtime"
	"testing"
)

func TestReserve(t *testing.T) {
	t.Parallel()
	reserved := map[string]bool{}
	for range 50 {
		addr, err := Reserve()
		if err != nil {
			t.Fatal(err)
		}
		if reserved[addr] {
			t.Fatalf("%s was reserved twice", addr)
		}
		reserved[addr] = true
	}
	for addr := range reserved {
		for range 2 { // a process that is killed and started again
			listener, err := net.Listen("tcp", addr)
			if err != nil {
				t.Fatalf("the process that the port is reserved for: %v", err)
			}
			listener.Close()
		}
	}
	if runtime.GOOS != "linux" {
		return // only free at the moment of the call, as documented
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for range 8000 { // of some 28,000 ports
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if reserved[listener.Addr().String()] {
			t.Errorf("the system gave %s to a listener", listener.Addr())
		}
		listener.Close()
	}
	for range 1000 {
		conn, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() // at the end, so that no two connections share a port
		if reserved[conn.LocalAddr().String()] {
			t.Errorf("the system gave %s to an outgoing connection", conn.LocalAddr())
		}
	}
}
