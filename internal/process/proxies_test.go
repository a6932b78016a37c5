package process

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestThroughProxies(t *testing.T) {
	t.Parallel()
	const proxy = "10.0.0.1:5"
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for name, row := range map[string]struct {
		trusted   []netip.Prefix
		peer      string
		forwarded []string
		want      string
	}{
		"no setting":        {nil, proxy, []string{"192.0.2.1"}, proxy},
		"a trusted proxy":   {trusted, proxy, []string{"192.0.2.1"}, "192.0.2.1:0"},
		"another peer":      {trusted, "203.0.113.9:5", []string{"192.0.2.1"}, "203.0.113.9:5"},
		"a claimed proxy":   {trusted, "203.0.113.9:5", []string{"192.0.2.1, 10.0.0.1"}, "203.0.113.9:5"},
		"a made-up client":  {trusted, proxy, []string{"127.0.0.1, 192.0.2.1"}, "192.0.2.1:0"},
		"a made-up proxy":   {trusted, proxy, []string{"127.0.0.1, 10.9.9.9, 192.0.2.1"}, "192.0.2.1:0"},
		"a made-up line":    {trusted, proxy, []string{"127.0.0.1", "192.0.2.1"}, "192.0.2.1:0"},
		"two proxies":       {trusted, proxy, []string{"203.0.113.7, 192.0.2.1, 10.0.0.2"}, "192.0.2.1:0"},
		"a client inside":   {trusted, proxy, []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3:0"},
		"no address":        {trusted, proxy, []string{"192.0.2.1, unknown"}, proxy},
		"no address left":   {trusted, proxy, []string{"192.0.2.1, x\r\ny, 10.0.0.2"}, "10.0.0.2:0"},
		"no header":         {trusted, proxy, nil, proxy},
		"an empty header":   {trusted, proxy, []string{""}, proxy},
		"a port":            {trusted, proxy, []string{"192.0.2.1:4711"}, "192.0.2.1:0"},
		"IPv6":              {trusted, "[2001:db8:1::1]:5", []string{"2001:db8:2::7"}, "[2001:db8:2::7]:0"},
		"IPv6 with a port":  {trusted, "[2001:db8:1::1]:5", []string{"[2001:db8::7]:80"}, "[2001:db8::7]:0"},
		"IPv6 with a zone":  {trusted, "[2001:db8:1::1%eth0]:5", []string{"fe80::1%x"}, "[fe80::1]:0"},
		"a dual stack":      {trusted, "[::ffff:10.0.0.1]:5", []string{"192.0.2.1"}, "192.0.2.1:0"},
		"no address at all": {trusted, "@", []string{"192.0.2.1"}, "@"},
		"IPv4 in IPv6":      {trusted, proxy, []string{"::ffff:192.0.2.1"}, "192.0.2.1:0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = row.peer, row.forwarded
			got := ""
			throughProxies(row.trusted, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got = r.RemoteAddr
			})).ServeHTTP(httptest.NewRecorder(), r)
			if got != row.want {
				t.Errorf("it came from %s, want %s", got, row.want)
			}
			if r.RemoteAddr != row.peer {
				t.Errorf("the caller's request was changed to %s", r.RemoteAddr)
			}
		})
	}
}
