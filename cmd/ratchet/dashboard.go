package main

import (
	"net"
	"net/url"
	"os"
	"unicode/utf8"

	repository "github.com/ratchet-pay/ratchet"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/supervisor"
)

const dashboardPasswordVariable = "RATCHET_DASHBOARD_PASSWORD"

// leastPassword is in characters. Guessing is limited, too, but by each process for itself.
const leastPassword = 12

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
	if password == "" && !onLoopback(at) {
		return nil, usagef("the dashboard at %s is reachable from other machines and needs a password: set %s (or "+
			"%s_FILE), or listen on 127.0.0.1",
			at, dashboardPasswordVariable, dashboardPasswordVariable)
	}
	if password != "" && utf8.RuneCountInString(password) < leastPassword {
		return nil, usagef("%s must have at least %d characters, for example $(openssl rand -base64 18)",
			dashboardPasswordVariable, leastPassword)
	}
	shown := &process.Dashboard{Password: password, Shop: demos("RATCHET_SHOP_URL"), Lab: demos(page.URLVariable),
		Source: repository.Source}
	if demonstrating() {
		shown.Supervisor = supervisor.FromEnvironment()
	}
	return shown, nil
}

// demos is where the demo that started us runs its shop or its lab, if one did.
func demos(variable string) *url.URL {
	at, err := url.Parse(os.Getenv(variable))
	if err != nil || at.Host == "" || !demonstrating() {
		return nil
	}
	return at
}
