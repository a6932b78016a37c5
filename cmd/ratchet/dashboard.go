package main

import (
	"context"
	"net"
	"net/url"
	"os"
	"unicode/utf8"

	repository "github.com/ratchet-pay/ratchet"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/supervisor"
)

const dashboardPasswordVariable = "RATCHET_DASHBOARD_PASSWORD"

// leastPassword is in characters. Guessing is limited, too, but by each process for itself.
const leastPassword = 12

// dashboard is how "serve" shows the pages for people at an address: not at all
// where the switch is off, and never to other machines without a password.
func dashboard(ctx context.Context, wish, totp, databaseURL string, at net.Addr) (*process.Dashboard, error) {
	switch wish {
	case "off":
		return nil, nil
	case "on":
	default:
		return nil, usagef(`--dashboard is "on" or "off", not %q`, wish)
	}
	if totp != "optional" && totp != "required" {
		return nil, usagef(`--dashboard-totp is "optional" or "required", not %q`, totp)
	}
	password, err := given().lookup(dashboardPasswordVariable)
	if err != nil {
		return nil, err
	}
	if password == "" && !onLoopback(at) {
		if err := needUsers(ctx, databaseURL, at); err != nil {
			return nil, err
		}
	}
	if password != "" && utf8.RuneCountInString(password) < leastPassword {
		return nil, usagef("%s must have at least %d characters, for example $(openssl rand -base64 18)",
			dashboardPasswordVariable, leastPassword)
	}
	shown := &process.Dashboard{
		Password:     password,
		TOTPRequired: totp == "required",
		Shop:         demos("RATCHET_SHOP_URL"),
		Lab:          demos(page.URLVariable),
		Source:       repository.Source,
		Operator:     operatorCommand(databaseURL),
	}
	if demonstrating() {
		shown.Supervisor = supervisor.FromEnvironment()
	}
	return shown, nil
}

// needUsers refuses to show the pages to other machines while they need no login.
func needUsers(ctx context.Context, databaseURL string, at net.Addr) error {
	const way = "set %[2]s (or %[2]s_FILE), create a user with \"ratchet users create\", or listen on 127.0.0.1"
	pool, err := postgres.Open(ctx, postgres.Config{URL: databaseURL, ApplicationName: "ratchet serve", MaxConns: 1})
	if err != nil {
		return usagef("the dashboard at %[1]s is reachable from other machines, and its users cannot be read (%[3]v): "+
			way, at, dashboardPasswordVariable, err)
	}
	defer pool.Close()
	is, err := people.Any(ctx, pool)
	if err != nil || is {
		return err
	}
	return usagef("the dashboard at %[1]s is reachable from other machines and has no user: "+way, at,
		dashboardPasswordVariable)
}

// demos is where the demo that started us runs its shop or its lab, if one did.
func demos(variable string) *url.URL {
	at, err := url.Parse(os.Getenv(variable))
	if err != nil || at.Host == "" || !demonstrating() {
		return nil
	}
	return at
}
