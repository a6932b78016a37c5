//go:build unix

package local

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user the server runs as. The zero value is ourselves.
type account struct {
	name       string
	credential *syscall.Credential
}

// serverAccount chooses a user, because PostgreSQL refuses to run as root. It must
// have a passwd entry (initdb looks it up), and a demo does not create users, so
// it is one that every system has.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("account %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("account %s: %w", name, err)
		}
		return account{name: name, credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return account{}, errors.New("running as root, and PostgreSQL refuses to run as root: found neither a 'postgres' " +
		"nor a 'nobody' account to run it as; create one (useradd --system postgres) or run as an ordinary user")
}

// own gives a file we made to the server's user.
func (a account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	return os.Chown(path, int(a.credential.Uid), int(a.credential.Gid))
}

// mustEnter says so if the server's user cannot get to dir, for example because
// it is below root's home. PostgreSQL itself would only say "could not access".
func (a account) mustEnter(dir string) error {
	if a.credential == nil {
		return nil
	}
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !a.mayEnter(info) {
			return fmt.Errorf("running as root, PostgreSQL runs as uid %d, which cannot enter %s (mode %04o): "+
				"choose a data directory outside it, for example /var/lib/ratchet", a.credential.Uid, dir,
				info.Mode().Perm())
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir = parent
	}
}

func (a account) mayEnter(dir os.FileInfo) bool {
	mode := dir.Mode().Perm()
	owner := dir.Sys().(*syscall.Stat_t)
	switch {
	case owner.Uid == a.credential.Uid:
		return mode&0o100 != 0
	case owner.Gid == a.credential.Gid:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}
