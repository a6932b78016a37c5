package postgres

import (
	"fmt"
	"net"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgconn"
)

// Unencrypted returns a host of a database URL that is another machine and that sessions may
// reach without encryption, or "" if there is none. sslmode=prefer, the default, may fall back to
// an unencrypted session, so it counts as unencrypted.
func Unencrypted(url string) (host string, err error) {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return "", fmt.Errorf("read database URL: %w", err)
	}
	if config.TLSConfig == nil && !onThisMachine(config.Host) {
		return config.Host, nil
	}
	for _, f := range config.Fallbacks {
		if f.TLSConfig == nil && !onThisMachine(f.Host) {
			return f.Host, nil
		}
	}
	return "", nil
}

// onThisMachine says whether a host is a socket's directory, or an address or name of this machine.
func onThisMachine(host string) bool {
	return filepath.IsAbs(host) || host == "localhost" || net.ParseIP(host).IsLoopback()
}
