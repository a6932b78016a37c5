package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// The variables that hold what is secret.
const (
	databaseVariable         = "RATCHET_DATABASE_URL"
	acquirerDatabaseVariable = "RATCHET_ACQUIRER_DATABASE_URL"
	secretVariable           = "RATCHET_SECRET"
	oldSecretVariable        = "RATCHET_SECRET_OLD"
	acquirerSecretVariable   = "RATCHET_ACQUIRER_SECRET"

	notificationSecretVariable = "RATCHET_NOTIFICATION_SECRET"
)

// hints say how to come by a setting that is missing.
var hints = map[string]string{
	databaseVariable:         "postgres://user:password@host:5432/ratchet",
	acquirerDatabaseVariable: "postgres://user:password@host:5432/ratchet_acquirer",
	secretVariable:           "$(openssl rand -hex 32), the same in every process, kept as long as the data",
	acquirerSecretVariable:   "the secret that the acquirer and its clients share",

	notificationSecretVariable: "the secret that signs the acquirer's notifications",
}

// settings reads what is secret. Values of the demo that is running stand in for
// an operator who has set nothing; the parts themselves are never given them.
type settings struct{ demo map[string]string }

// given are the settings of the environment alone.
func given() settings { return settings{} }

// operators are the settings of the environment or else of the demo that runs in
// RATCHET_DATA_DIR. They are never mixed: a demo's secret is useless with
// another database, and an operator's command must not act on the wrong one.
func operators() (settings, error) {
	named, err := given().databaseURL()
	var usage *usageError
	if err != nil && !errors.As(err, &usage) {
		return settings{}, err
	}
	if demonstration.environ == nil {
		return settings{}, nil
	}
	running, err := demonstration.environ(os.Getenv("RATCHET_DATA_DIR"))
	if errors.Is(err, fs.ErrNotExist) {
		return settings{}, nil
	}
	if named != "" && (err != nil || named != running[databaseVariable]) {
		return settings{}, nil
	}
	if err != nil {
		return settings{}, err
	}
	return settings{demo: running}, nil
}

// lookup finds a value in the environment, in a file that the environment names,
// or in the running demo. "" is no value.
func (s settings) lookup(name string) (string, error) {
	value, file := os.Getenv(name), os.Getenv(name+"_FILE")
	switch {
	case value != "" && file != "":
		return "", usagef("both %s and %s_FILE are set: use one", name, name)
	case value != "":
		return value, nil
	case file != "":
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read %s_FILE: %w", name, err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	return s.demo[name], nil
}

func (s settings) require(name string) (string, error) {
	value, err := s.lookup(name)
	if err != nil {
		return "", err
	}
	if value == "" {
		return "", usagef("%s is not set: %s=%s", name, name, hints[name])
	}
	return value, nil
}

// databaseURL also knows DATABASE_URL, which many platforms set.
func (s settings) databaseURL() (string, error) {
	own, err := given().lookup(databaseVariable)
	if err != nil || own != "" {
		return own, err
	}
	if url := os.Getenv("DATABASE_URL"); url != "" {
		return url, nil
	}
	return s.require(databaseVariable)
}

// rootsOf are the secrets for a command on a database. They must be those of the installation.
func (s settings) rootsOf(ctx context.Context, pool *pgxpool.Pool) (*secret.Roots, error) {
	newest, older, err := s.roots()
	if err != nil {
		return nil, err
	}
	roots, err := process.ClaimSecrets(ctx, pool, append([]secret.Root{newest}, older...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", secretVariable, err)
	}
	return roots, nil
}

// roots are the newest secret and the older ones, of which there are some while it is rotated.
func (s settings) roots() (newest secret.Root, older []secret.Root, err error) {
	if newest, err = s.root(); err != nil {
		return nil, nil, err
	}
	text, err := s.lookup(oldSecretVariable)
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		root, err := secret.New(line)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", oldSecretVariable, err)
		}
		older = append(older, root)
	}
	return newest, older, nil
}

func (s settings) root() (secret.Root, error) {
	text, err := s.require(secretVariable)
	if err != nil {
		return nil, err
	}
	root, err := secret.New(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", secretVariable, err)
	}
	return root, nil
}
