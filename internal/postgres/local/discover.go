package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// installation is one directory with initdb and postgres in it, both of which run.
type installation struct {
	dir     string
	version string
}

// usualDirs is where distributions put the server. Most leave it off PATH.
var usualDirs = []string{
	"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
	"/usr/pgsql-*/bin",          // PGDG on RHEL
	"/usr/lib/postgresql*/bin",  // openSUSE, Gentoo
	"/usr/libexec/postgresql*",  // Alpine
	"/usr/local/pgsql/bin",      // built from source
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// startInstalled runs the newest installation, or the one whose version made the data.
func startInstalled(ctx context.Context, o Options, state *stateDir) (*Server, error) {
	found, err := installed(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := forCluster(found, state)
	if err != nil {
		return nil, err
	}
	return startCluster(ctx, o, state, chosen)
}

// installed lists what can be used, newest first. $PGBIN names one directory
// and leaves all others out.
func installed(ctx context.Context) ([]installation, error) {
	var found []installation
	var refused []string
	for _, dir := range candidateDirs(ctx) {
		i, err := probe(ctx, dir)
		if err != nil {
			refused = append(refused, err.Error())
			continue
		}
		found = append(found, i)
	}
	if len(found) == 0 && len(refused) == 0 {
		return nil, unavailablef("no postgres and initdb on PATH, from pg_config or in the usual directories")
	}
	if len(found) == 0 {
		return nil, unavailablef("%s", strings.Join(refused, "; "))
	}
	slices.SortStableFunc(found, func(a, b installation) int { return major(b.version) - major(a.version) })
	return found, nil
}

func candidateDirs(ctx context.Context) []string {
	if dir := os.Getenv("PGBIN"); dir != "" {
		return []string{dir}
	}
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// A link in /usr/local/bin has no initdb beside it; what it points to has.
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(resolved))
		}
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		// The development package alone has pg_config without a server.
		if dir := strings.TrimSpace(string(out)); holdsServer(dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, pattern := range usualDirs {
		matches, _ := filepath.Glob(pattern)
		for _, dir := range matches {
			if holdsServer(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

func holdsServer(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "postgres"))
	return err == nil
}

// probe runs both programs: a file that is there may still lack a library or a
// newer kernel.
func probe(ctx context.Context, dir string) (installation, error) {
	var answer string
	for _, name := range []string{"initdb", "postgres"} {
		out, err := exec.CommandContext(ctx, filepath.Join(dir, name), "--version").CombinedOutput()
		if err != nil {
			return installation{}, fmt.Errorf("%s/%s does not run: %w %s", dir, name, err, firstLine(out))
		}
		answer = firstLine(out)
	}
	words := strings.Fields(answer) // postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
	if len(words) < 3 || major(words[2]) == 0 {
		return installation{}, fmt.Errorf("%s/postgres: no version in %q", dir, answer)
	}
	i := installation{dir: dir, version: words[2]}
	if major(i.version) < oldestMajor {
		return installation{}, fmt.Errorf("%s is PostgreSQL %s, need %d or newer", dir, i.version, oldestMajor)
	}
	return i, nil
}

// forCluster picks the installation that can read the data in state. Data of
// another version is unavailable here, but a later source may have that version.
func forCluster(found []installation, state *stateDir) (installation, error) {
	made := state.clusterMajor()
	if made == 0 {
		return found[0], nil
	}
	for _, i := range found {
		if major(i.version) == made {
			return i, nil
		}
	}
	return installation{}, unavailablef("data in %s was made by PostgreSQL %d, but this is %s: "+
		"install PostgreSQL %d again, dump and restore, or choose another data directory",
		state.data(), made, found[0].version, made)
}

// major is 17 for "17.10", "17" and "17.10 (Debian …)"; 0 if it is not a version.
func major(version string) int {
	digits := version
	if end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = version[:end]
	}
	number, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return number
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}
