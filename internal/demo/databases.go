package demo

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// databases are ours and the acquirer's. They are two, because the acquirer is
// another company: nothing of ours may depend on reading its books in our transaction.
type databases struct{ ratchet, acquirer string }

const (
	ourDatabase       = "ratchet"
	acquirersDatabase = "ratchet_acquirer"
)

// ownDatabases makes both on a server that is the demo's own. fresh drops what
// earlier runs left in them, and nothing else on the server.
func ownDatabases(ctx context.Context, server string, fresh bool) (databases, error) {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return databases{}, fmt.Errorf("reach database: %w", err)
	}
	defer conn.Close(ctx)
	for _, name := range []string{ourDatabase, acquirersDatabase} {
		if fresh {
			_, err = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)")
			if err != nil {
				return databases{}, fmt.Errorf("start over: %w", err)
			}
		}
		err = makeDatabase(ctx, conn, name)
		if err != nil {
			return databases{}, err
		}
	}
	return databases{ratchet: withDatabase(server, ourDatabase), acquirer: withDatabase(server, acquirersDatabase)}, nil
}

// besides uses the database that was given and makes the acquirer's next to it.
// Where that is not allowed, the acquirer's schema lives in the same database.
func besides(ctx context.Context, given string) (databases, error) {
	conn, err := pgx.Connect(ctx, given)
	if err != nil {
		return databases{}, fmt.Errorf("reach database: %w", err)
	}
	defer conn.Close(ctx)
	name := conn.Config().Database + "_acquirer"
	if conn.Config().Database == "" {
		name = acquirersDatabase
	}
	err = makeDatabase(ctx, conn, name)
	if err != nil {
		return databases{ratchet: given, acquirer: given}, nil
	}
	return databases{ratchet: given, acquirer: withDatabase(given, name)}, nil
}

const databaseExists = `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`

func makeDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	var exists bool
	err := conn.QueryRow(ctx, databaseExists, name).Scan(&exists)
	if err != nil {
		return fmt.Errorf("look for database %s: %w", name, err)
	}
	if exists {
		return nil
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// mayTakeRoles finds out whether the login may work under the roles of the parts.
// One that made them, on PostgreSQL 16 or newer, may have to grant them to itself.
func mayTakeRoles(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("reach database: %w", err)
	}
	defer conn.Close(ctx)
	for _, role := range []string{"ratchet_api", "ratchet_worker", "ratchet_shop"} {
		_, err := conn.Exec(ctx, "SET ROLE "+role+"; RESET ROLE")
		if err == nil {
			continue
		}
		_, err = conn.Exec(ctx, "GRANT "+role+" TO CURRENT_USER; SET ROLE "+role+"; RESET ROLE")
		if err != nil {
			user := pgx.Identifier{conn.Config().User}.Sanitize()
			return fmt.Errorf("the login of DATABASE_URL may not assume the roles of the processes (%w); "+
				"run as a superuser: GRANT ratchet_api, ratchet_worker, ratchet_shop TO %s", err, user)
		}
	}
	return nil
}

// withDatabase is the address of another database on the same server. An address
// is a URL or a list of key=value, in which the last of two values holds.
func withDatabase(address, name string) string {
	if !strings.Contains(address, "://") {
		return address + " dbname=" + name
	}
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Path = "/" + name
	return u.String()
}

// public is an address as it may be shown: without its password.
func public(address string) string {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return "(unreadable URL)"
	}
	return fmt.Sprintf("postgres://%s@%s:%d/%s", config.User, config.Host, config.Port, config.Database)
}
