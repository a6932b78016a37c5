package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Every way we know of writing an address that is not on the open internet, or
// of reaching something else than a web server there.
var forbidden = []string{
	"https://127.0.0.1/", "https://127.1.2.3/", "https://127.1/", "https://2130706433/", "https://0x7f000001/",
	"https://0x7f.0.0.1/", "https://0177.0.0.1/", "https://localhost/", "https://LOCALHOST/", "https://localhost./",
	"https://shop.localhost/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/",
	"https://[::127.0.0.1]/", "https://0.0.0.0/", "https://0/", "https://[::]/", "https://10.0.0.1/",
	"https://10.255.255.255/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.0.1/",
	"https://[fc00::1]/", "https://[fd12:3456::1]/", "https://[::ffff:10.0.0.1]/", "https://[::ffff:192.168.1.1]/",
	"https://169.254.169.254/", "https://169.254.1.1/", "https://[::ffff:169.254.169.254]/", "https://[fe80::1]/",
	"https://[fe80::1%25eth0]/", "https://[fec0::1]/", "https://[fd00:ec2::254]/", "https://100.64.0.1/",
	"https://100.100.100.200/", "https://100.127.255.255/", "https://192.0.0.192/", "https://192.0.2.1/",
	"https://198.18.0.1/", "https://198.19.255.255/", "https://198.51.100.1/", "https://203.0.113.1/",
	"https://192.88.99.1/", "https://224.0.0.1/", "https://239.255.255.255/", "https://240.0.0.1/",
	"https://255.255.255.255/", "https://[ff02::1]/", "https://[ff0e::1]/", "https://[64:ff9b::7f00:1]/",
	"https://[64:ff9b::a9fe:a9fe]/", "https://[64:ff9b:1::1]/", "https://[2002:7f00:1::]/",
	"https://[2002:a9fe:a9fe::]/", "https://[::ffff:0:127.0.0.1]/", "https://[::ffff:0:a9fe:a9fe]/",
	"https://[::ffff:0:808:808]/", "https://[64:ff9b:1:fffe::7f00:1]/", "https://[2002:a00:1::1]/",
	"https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "https://[2001:0:7f00:1::]/", "https://[2001:db8::1]/",
	"https://[100::1]/", "https://[3fff::1]/", "https://intranet/", "https://metadata/", "http://shop.example.com/",
	"ftp://shop.example.com/", "file:///etc/passwd", "gopher://shop.example.com/", "//shop.example.com/",
	"shop.example.com", "https:shop.example.com", "https://", "https://me:secret@shop.example.com/",
	"https://me@shop.example.com/", "https://shop.example.com/#part", "https://shop.example.com:22/",
	"https://shop.example.com:80/", "https://shop.example.com:6379/", "https://shop.example.com:99999/",
	"https://shop.example.com/a b", "https://shop.example.com/\r\nHost: x", "",
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range forbidden {
		if Objection(address, nil) == "" {
			t.Errorf("%q is taken", address)
		}
	}
	for _, address := range []string{
		"https://shop.example.com/", "https://shop.example.com:443/a?b=c", "https://shop.example.com:8443/",
		"https://8.8.8.8/", "https://[2606:4700::1111]/", "https://3com.com/",
	} {
		if objection := Objection(address, nil); objection != "" {
			t.Errorf("%q is refused: %s", address, objection)
		}
	}
	for address, want := range map[string]bool{
		"http://127.0.0.1:4242/":     true,
		"http://localhost:3000/hook": true,
		"http://[::1]:1/":            true,
		"https://127.0.0.1/":         true,
		"http://10.0.0.1/":           false,
		"http://shop.example.com/":   false,
		"https://169.254.169.254/":   false,
		"ftp://localhost/":           false,
	} {
		if got := Objection(address, Config{AllowLoopback: true}.Private()) == ""; got != want {
			t.Errorf("where this machine is allowed, %q is taken: %t", address, got)
		}
	}
}

// TestTheGuardStandsAtTheSocket lets a name stand for what it should not. The
// text of the address is in order; who dials finds out.
func TestTheGuardStandsAtTheSocket(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(server.Close)
	sender := func(allowLoopback bool, stands net.IP) *Sender {
		s := NewSender(Config{AllowLoopback: allowLoopback})
		dialer := &net.Dialer{
			Control:  guard(Config{AllowLoopback: allowLoopback}.Private()),
			Resolver: nameserver(t, stands),
		}
		s.client.Transport.(*http.Transport).DialContext = dialer.DialContext
		return s
	}
	for _, ip := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "192.168.1.1", "0.0.0.0"} {
		r := sender(false, net.ParseIP(ip)).Send(t.Context(), "https://rebound.example.com/", nil, "")
		if r.Status != 0 || !strings.Contains(r.Error, ErrForbidden.Error()) {
			t.Errorf("a name that stands for %s: %+v", ip, r)
		}
	}
	if r := sender(true, net.IPv4(10, 0, 0, 1)).
		Send(t.Context(), "https://rebound.example.com/", nil, ""); !strings.Contains(r.Error, ErrForbidden.Error()) {
		t.Errorf("allowing this machine allows its neighbors: %+v", r)
	}
	if r := NewSender(Config{}).Send(t.Context(), server.URL, nil, ""); r.Status != 0 || r.Error == "" {
		t.Errorf("an endpoint from when this machine was allowed is still sent to: %+v", r)
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests got through", n)
	}
	if r := NewSender(Config{AllowLoopback: true}).Send(t.Context(), server.URL, nil, ""); !r.OK() {
		t.Errorf("where this machine is allowed: %+v", r)
	}
}

func TestTheGuardAtEveryAddress(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"8.8.8.8:443", "[2606:4700::1111]:8443"} {
		if err := guard(nil)("tcp", to, nil); err != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
	for _, to := range []string{"8.8.8.8:22", "127.0.0.1:443", "[::1]:443", "[::ffff:10.0.0.1]:443",
		"[64:ff9b::a00:1]:443", "[fe80::1%eth0]:443",
		"[::ffff:0:7f00:1]:443", "[64:ff9b:1::7f00:1]:443", "[2002:7f00:1::]:443", "[2001::1]:443", "0.0.0.0:443",
		"nonsense"} {
		if err := guard(nil)("tcp", to, nil); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", to, err)
		}
	}
	err := guard(Config{AllowLoopback: true}.Private())("udp", "127.0.0.1:443", nil)
	if !errors.Is(err, ErrForbidden) {
		t.Errorf("another protocol: %v", err)
	}
}

// TestLoopbackPorts allows one port of this machine, as a demo does.
func TestLoopbackPorts(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	at, err := netip.ParseAddrPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	allowed := Config{AllowLoopback: true, LoopbackPorts: []uint16{80, at.Port()}}
	other := Config{AllowLoopback: true, LoopbackPorts: []uint16{80}}
	for address, want := range map[string]bool{
		server.URL: true,
		"http://localhost:" + strconv.Itoa(int(at.Port())): true,
		"http://localhost/":   true,
		"http://[::1]:80/":    true,
		"https://localhost/":  false,
		"http://127.0.0.1:1/": false,
		"http://127.0.0.1:0/": false,
		"http://10.0.0.1/":    false,
	} {
		objection := Objection(address, allowed.Private())
		if got := objection == ""; got != want {
			t.Errorf("%s: %q", address, objection)
		}
	}
	if objection := Objection("http://127.0.0.1:1/", allowed.Private()); !strings.Contains(objection, "to port 1 of") {
		t.Errorf("the objection to a port does not name it: %q", objection)
	}
	if r := NewSender(allowed).Send(t.Context(), server.URL, nil, ""); !r.OK() {
		t.Errorf("an allowed port: %+v", r)
	}
	r := NewSender(other).Send(t.Context(), server.URL, nil, "")
	if r.Status != 0 || !strings.Contains(r.Error, "--webhook-loopback-ports") {
		t.Errorf("an endpoint from when its port was allowed is still sent to: %+v", r)
	}
	if err := guard(other.Private())("tcp", at.String(), nil); !errors.Is(err, ErrForbidden) {
		t.Errorf("a name that stands for another port of this machine: %v", err)
	}
}

// nameserver answers every question with one address.
func nameserver(t *testing.T, stands net.IP) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buffer := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return // the test is over
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.RCode, m.Additionals = true, dnsmessage.RCodeSuccess, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
					Body:   &dnsmessage.AResource{A: [4]byte(stands.To4())},
				}}
			}
			packed, err := m.Pack()
			if err == nil {
				_, _ = conn.WriteTo(packed, from) // who asked may have gone
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// TestPrivateNetworks allows one private network, as the compose file does for the user's own services.
func TestPrivateNetworks(t *testing.T) {
	t.Parallel()
	private := Config{Networks: []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12")}}.Private()
	for address, want := range map[string]bool{
		"http://172.17.0.1:4242/hooks": true, "http://receiver:4242/hooks": true,
		"https://host.docker.internal/hooks": true, "https://example.com/hooks": true,
		"http://10.0.0.1/hooks": false, "http://127.0.0.1:4242/hooks": false, "http://localhost:4242/": false,
		"http://2886795265/hooks": false, "ftp://receiver/hooks": false, "http://169.254.169.254/": false,
	} {
		if objection := Objection(address, private); (objection == "") != want {
			t.Errorf("%s: %q, allowed should be %t", address, objection, want)
		}
	}
	for to, want := range map[string]bool{
		"172.17.0.1:4242": true, "[::ffff:172.17.0.1]:80": true, "93.184.215.14:443": true,
		"93.184.215.14:80": false, "10.0.0.1:443": false, "127.0.0.1:443": false, "169.254.169.254:80": false,
	} {
		if err := guard(private)("tcp", to, nil); (err == nil) != want {
			t.Errorf("a connection to %s: %v, allowed should be %t", to, err, want)
		}
	}
}
