package main

import (
	"net"
	"net/url"
	"os"

	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/internal/process"
)

const dashboardPasswordVariable = "RATCHET_DASHBOARD_PASSWORD"

// dashboard is how "serve" shows the pages for people at an address: not at all
// where the switch is off, and never to other machines without a password.
func dashboard(wish string, at net.Addr) (*process.Dashboard, error) {
	switch wish {
	case "off":
		return nil, nil
	case "on":
	default:
		return nil, usagef(`--dashboard is "on" or "off", not %q`, wish)
	}
	password, err := given().lookup(dashboardPasswordVariable)
	if err != nil {
		return nil, err
	}
	address, is := at.(*net.TCPAddr)
	if password == "" && !(is && address.IP.IsLoopback()) {
		return nil, usagef("the dashboard at %s would be open to other machines: set %s (or %s_FILE), or listen on 127.0.0.1",
			at, dashboardPasswordVariable, dashboardPasswordVariable)
	}
	return &process.Dashboard{Password: password, Shop: demos("RATCHET_SHOP_URL"), Lab: demos(page.URLVariable)}, nil
}

// demos is where the demo that started us runs its shop or its lab, if one did.
func demos(variable string) *url.URL {
	at, err := url.Parse(os.Getenv(variable))
	if err != nil || at.Host == "" || !demonstrating() {
		return nil
	}
	return at
}
