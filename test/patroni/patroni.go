//go:build linux

// Package patroni starts three PostgreSQL servers under Patroni on this machine, with etcd,
// as docs/tour/17-growth.md describes, and kills, stalls and isolates them for tests.
//
// What protects payments in it is synchronous replication, and no watchdog: a leader that
// was stalled and wakes after another was chosen cannot commit, because its synchronous
// standby follows the other.
package patroni

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/port"
)

//go:embed patroni.yml
var configuration string

const (
	password = "only-for-tests"

	// timeout is how long a cluster may take to become whole: a node that was killed is
	// rewound, or copied again.
	timeout = 4 * time.Minute

	// Ours is the name of the database.
	Ours = "ratchet"
)

// Cluster is three nodes and etcd.
type Cluster struct {
	Nodes []*Node

	t           testing.TB
	dir         string
	programs    string // where PostgreSQL's are
	etcdSection string // of Patroni's configuration: which API of etcd it uses
	credential  *syscall.Credential
}

// Start starts a cluster with an empty database, and waits until it is whole. It is
// removed when the test ends.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{t: t, programs: findPrograms(t), etcdSection: chooseAPI(t)}
	c.becomeServer()
	dir, err := os.MkdirTemp("", "ratchet-patroni-")
	if err != nil {
		t.Fatalf("patroni: %v", err)
	}
	c.dir = dir
	c.give(dir)
	t.Cleanup(c.end)
	etcd := c.startEtcd()
	for _, name := range []string{"one", "two", "three"} {
		n := &Node{Name: name, t: t, cluster: c, dir: filepath.Join(dir, name), postgres: c.port(), api: c.port()}
		if err := os.Mkdir(n.dir, 0o700); err != nil {
			t.Fatalf("patroni: %v", err)
		}
		c.give(n.dir)
		toEtcd, toPostgres, toAPI := newLink(t, etcd), newLink(t, n.postgres), newLink(t, n.api)
		n.links = []*link{toEtcd, toPostgres, toAPI}
		n.etcd, n.fromOthers, n.apiFromOther = toEtcd.addr, toPostgres.addr, toAPI.addr
		n.configure()
		n.run()
		c.Nodes = append(c.Nodes, n)
	}
	c.WaitWhole()
	c.makeDatabase()
	return c
}

func findPrograms(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"patroni", "etcd"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("patroni: this test needs Patroni and etcd, and %s was not found. On Debian: "+
				"apt-get install --no-install-recommends patroni etcd-server postgresql", name)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_rewind") // Debian's place
	if len(found) == 0 {
		t.Fatal("patroni: this test needs PostgreSQL's programs in /usr/lib/postgresql. On Debian: apt-get install " +
			"postgresql")
	}
	return filepath.Dir(found[len(found)-1])
}

// chooseAPI returns the section of Patroni's configuration for the API of etcd that is safe. Through etcd3, Patroni
// before 3.0.3, such as Debian 12's, writes the leader's key without comparing it when it has to renew a lease that
// expired. So a leader that stalled and woke could take the key from the one that had been promoted meanwhile. Through
// the older API it compares.
func chooseAPI(t testing.TB) (section string) {
	t.Helper()
	said, err := exec.Command("patroni", "--version").Output()
	if err != nil {
		t.Fatalf("patroni: ask for its version: %v", err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(string(said), "patroni %d.%d.%d", &major, &minor, &patch); err != nil {
		t.Fatalf("patroni: its version is %q: %v", said, err)
	}
	if slices.Compare([]int{major, minor, patch}, []int{3, 0, 3}) < 0 {
		return "etcd"
	}
	return "etcd3"
}

// becomeServer chooses the user for the servers, because PostgreSQL refuses to run as root.
func (c *Cluster) becomeServer() {
	c.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		c.t.Fatalf("patroni: running as root: %v", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		c.t.Fatalf("patroni: %v", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		c.t.Fatalf("patroni: %v", err)
	}
	c.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (c *Cluster) give(path string) {
	c.t.Helper()
	if c.credential == nil {
		return
	}
	if err := os.Chown(path, int(c.credential.Uid), int(c.credential.Gid)); err != nil {
		c.t.Fatalf("patroni: %v", err)
	}
}

func (c *Cluster) port() string {
	c.t.Helper()
	addr, err := port.Reserve()
	if err != nil {
		c.t.Fatalf("patroni: %v", err)
	}
	return addr
}

// startEtcd starts one etcd, which no test harms. An installation has three.
func (c *Cluster) startEtcd() (addr string) {
	c.t.Helper()
	addr, peers := c.port(), c.port()
	args := []string{"--name", "one", "--data-dir", filepath.Join(c.dir, "etcd"),
		"--listen-client-urls", "http://" + addr, "--advertise-client-urls", "http://" + addr,
		"--listen-peer-urls", "http://" + peers, "--initial-advertise-peer-urls", "http://" + peers,
		"--initial-cluster", "one=http://" + peers}
	if c.etcdSection == "etcd" {
		args = append(args, "--enable-v2")
	}
	etcd, gone := c.spawn(c.dir, "etcd.log", syscall.SIGKILL, "etcd", args...)
	c.t.Cleanup(func() {
		_ = etcd.Process.Kill()
		<-gone
	})
	return addr
}

func (c *Cluster) makeDatabase() {
	c.t.Helper()
	ctx := c.t.Context()
	conn, err := pgx.Connect(ctx, c.address("postgres"))
	if err != nil {
		c.t.Fatalf("patroni: %v", err)
	}
	defer conn.Close(ctx)
	for _, sql := range []string{"CREATE DATABASE " + Ours, "CREATE TABLE beat (at timestamptz NOT NULL)"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			c.t.Fatalf("patroni: %s: %v", sql, err)
		}
	}
	c.wait("every server has the database", func() bool { // pgx asks no other host after one that lacks it
		for _, n := range c.Nodes {
			conn, err := pgx.Connect(ctx, n.address(Ours))
			if err != nil {
				return false
			}
			_ = conn.Close(ctx)
		}
		return true
	})
}

// URL is the address of whichever server takes writes.
func (c *Cluster) URL() string { return c.address(Ours) }

func (c *Cluster) address(database string) string {
	var hosts []string
	for _, n := range c.Nodes {
		hosts = append(hosts, n.postgres)
	}
	return fmt.Sprintf("postgres://postgres:%s@%s/%s?target_session_attrs=read-write&sslmode=disable", password,
		strings.Join(hosts, ","), database)
}

// Beats is the address of a database with a table to try whether a commit is acknowledged.
func (c *Cluster) Beats() string { return c.address("postgres") + "&connect_timeout=1" }

// Leader waits for the leader, one that is not among others.
func (c *Cluster) Leader(others ...*Node) (leader *Node) {
	c.t.Helper()
	c.wait("there is a leader", func() bool {
		for _, n := range c.Nodes {
			if !slices.Contains(others, n) && n.leads() {
				leader = n
				return true
			}
		}
		return false
	})
	return leader
}

// Synchronous is the node that has what the leader has acknowledged.
func (c *Cluster) Synchronous() (standby *Node) {
	c.t.Helper()
	leader := c.Leader()
	c.wait("there is a synchronous standby", func() bool {
		all, err := leader.members()
		if err != nil {
			return false
		}
		for _, m := range all {
			for _, n := range c.Nodes {
				if m.Role == "sync_standby" && n.Name == m.Name {
					standby = n
				}
			}
		}
		return standby != nil
	})
	return standby
}

// WaitWhole waits until two standbys follow one leader, one of them synchronously.
func (c *Cluster) WaitWhole() {
	c.t.Helper()
	c.wait("the cluster is whole", func() bool {
		for _, n := range c.Nodes {
			if n.leads() {
				all, err := n.members()
				return err == nil && whole(all)
			}
		}
		return false
	})
}

func whole(all []member) bool {
	roles := map[string]int{}
	for _, m := range all {
		if m.State != "running" && m.State != "streaming" || m.Timeline != all[0].Timeline {
			return false
		}
		roles[m.Role]++
	}
	return roles["leader"] == 1 && roles["sync_standby"] == 1 && roles["replica"] == 1
}

func (c *Cluster) wait(what string, holds func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(timeout); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.tell()
			c.t.Fatalf("patroni: it never happened that %s", what)
		}
	}
}

// tell shows what the nodes said last.
func (c *Cluster) tell() {
	for _, n := range c.Nodes {
		c.t.Log(lastWords(filepath.Join(n.dir, "patroni.log")))
	}
}

// end kills all that is left, and removes it.
func (c *Cluster) end() {
	for _, n := range c.Nodes {
		signal(append([]int{n.agent.Process.Pid}, n.server()...), syscall.SIGCONT)
		n.Kill()
	}
	if err := os.RemoveAll(c.dir); err != nil {
		c.t.Logf("patroni: %v", err)
	}
}
