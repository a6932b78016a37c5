package main

import (
	"net"
	"net/url"
	"os"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// allowUnencrypted is for networks that are trusted or encrypted otherwise, such as a VPN or a service mesh.
const allowUnencrypted = "RATCHET_ALLOW_UNENCRYPTED"

// requireEncryption refuses a database or an acquirer on another machine that this process would
// reach without encryption: card references, customers and credentials cross that connection.
func requireEncryption(databaseURL, acquirerURL string) error {
	if os.Getenv(allowUnencrypted) == "1" {
		return nil
	}
	host, err := postgres.Unencrypted(databaseURL)
	if err != nil {
		return err
	}
	if host != "" {
		return usagef("the connection to the database on %s may be unencrypted: add sslmode=verify-full (and "+
			"sslrootcert) to its URL, or set %s=1 if the network is trusted", host, allowUnencrypted)
	}
	u, err := url.Parse(acquirerURL)
	if err == nil && u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback() {
		return usagef("the connection to the acquirer on %s is unencrypted: use https, or set %s=1 if the network is "+
			"trusted", u.Host, allowUnencrypted)
	}
	return nil
}
