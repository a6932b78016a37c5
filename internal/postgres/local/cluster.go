//go:build unix

package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cluster is a data directory, the programs that can read it and the user that owns it.
type cluster struct {
	state    *stateDir
	programs installation
	account  account
	options  Options
}

func startCluster(ctx context.Context, o Options, state *stateDir, programs installation) (*Server, error) {
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	c := &cluster{state: state, programs: programs, account: who, options: o}
	o.Log("postgres: %s from %s%s", programs.version, programs.dir, asUser(who))

	err = c.prepare()
	if err != nil {
		return nil, err
	}
	password, err := c.password()
	if err != nil {
		return nil, err
	}
	err = c.stopOrphan()
	if err != nil {
		return nil, err
	}
	err = c.create(ctx)
	if err != nil {
		return nil, err
	}
	return c.serve(ctx, password)
}

func asUser(a account) string {
	if a.name == "" {
		return ""
	}
	return " as user " + a.name
}

// prepare makes the server's own directory. Only that one is given away: the
// directory above may be one the user chose and keeps other things in.
func (c *cluster) prepare() error {
	for _, dir := range []string{c.programs.dir, c.state.path} {
		err := c.account.mustEnter(dir)
		if err != nil {
			return err
		}
	}
	err := os.MkdirAll(c.state.clusterDir(), 0o700)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	err = c.account.own(c.state.clusterDir())
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}

// password is made once for a cluster. A password on 127.0.0.1 rather than a
// socket only the server's user may open: any client works with the printed URL.
func (c *cluster) password() (string, error) {
	text, err := os.ReadFile(c.state.password())
	if err == nil && len(text) > 0 {
		return strings.TrimSpace(string(text)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read password: %w", err)
	}
	if c.state.clusterMajor() != 0 {
		return "", fmt.Errorf("%s not found, so the data beside it cannot be opened: "+
			"restore it, or choose another data directory", c.state.password())
	}

	secret := make([]byte, 24)
	_, _ = rand.Read(secret) // never fails
	password := hex.EncodeToString(secret)
	err = os.WriteFile(c.state.password(), []byte(password+"\n"), 0o600)
	if err != nil {
		return "", fmt.Errorf("write password: %w", err)
	}
	err = c.account.own(c.state.password()) // initdb reads it as the server's user
	if err != nil {
		return "", fmt.Errorf("write password: %w", err)
	}
	return password, nil
}

// create runs initdb beside the final place and renames: a kill in the middle
// leaves nothing that looks like a cluster. The C locale keeps sort order, and
// with it every index, independent of the machine.
func (c *cluster) create(ctx context.Context) error {
	data := c.state.data()
	if c.state.clusterMajor() != 0 {
		return nil
	}
	entries, err := os.ReadDir(data)
	if err == nil && len(entries) > 0 {
		return fmt.Errorf("%s exists and is not a PostgreSQL cluster; move it away", data)
	}
	fresh := data + ".new"
	err = os.RemoveAll(fresh)
	if err != nil {
		return fmt.Errorf("remove an unfinished cluster: %w", err)
	}

	began := time.Now()
	args := []string{
		"--pgdata=" + fresh, "--username=" + superuser, "--pwfile=" + c.state.password(), "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--data-checksums",
	}
	if c.options.Ephemeral {
		args = append(args, "--no-sync")
	}
	out, err := c.command(ctx, "initdb", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb failed: %w\n%s", err, out)
	}
	err = os.Remove(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put the new cluster in place: %w", err)
	}
	err = os.Rename(fresh, data)
	if err != nil {
		return fmt.Errorf("put the new cluster in place: %w", err)
	}
	c.options.Log("postgres: new cluster in %s (%v)", data, time.Since(began).Round(time.Millisecond))
	return nil
}

// command prepares one of PostgreSQL's programs. Our working directory may be
// one its user cannot enter, and our PG* variables must not reach it. A process
// separate group keeps Ctrl-C from stopping the database before its clients.
func (c *cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.programs.dir, name), args...)
	cmd.Dir = c.state.clusterDir()
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + c.state.clusterDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.account.credential, Setpgid: true}
	return cmd
}
