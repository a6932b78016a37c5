package demo

import (
	"net/url"
	"testing"
)

func TestPublicURL(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:8080": "",
		"[::1]:8080":     "",
		"192.0.2.7:8080": "http://192.0.2.7:8080",
	} {
		d := &demo{Config: Config{Addr: addr}, base: baseURL(addr)}
		if got := d.publicURL(); got != want {
			t.Errorf("at %s it is %q, want %q", addr, got, want)
		}
	}
	d := &demo{Config: Config{Addr: "0.0.0.0:8080", PublicURL: "https://demo.example"}, base: baseURL("0.0.0.0:8080")}
	if got := d.publicURL(); got != "https://demo.example" {
		t.Errorf("what was given is overridden by %q", got)
	}
	d.PublicURL = ""
	u, err := url.Parse(d.publicURL())
	if err != nil || u.Port() != "8080" || u.Scheme != "http" || u.Hostname() == "0.0.0.0" {
		t.Errorf("on all addresses it is %q", d.publicURL())
	}
}
