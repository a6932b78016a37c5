//go:build linux

package patroni

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"
)

// Node is a PostgreSQL server and the Patroni that manages it.
type Node struct {
	Name string

	t            testing.TB
	cluster      *Cluster
	dir          string
	postgres     string  // where clients reach it
	api          string  // where its Patroni answers
	links        []*link // to etcd, and from the others to it
	agent        *exec.Cmd
	gone         chan struct{} // closed when the agent has ended
	fromOthers   string
	apiFromOther string
	etcd         string
}

// run starts the node's Patroni, which starts PostgreSQL.
func (n *Node) run() {
	n.t.Helper()
	n.agent, n.gone = n.cluster.spawn(n.dir, "patroni.log", syscall.SIGTERM, "patroni",
		filepath.Join(n.dir, "patroni.yml"))
}

func (n *Node) configure() {
	n.t.Helper()
	var text bytes.Buffer
	err := template.Must(template.New("patroni.yml").Parse(configuration)).Execute(&text, map[string]string{
		"Name": n.Name, "API": n.api, "APIFromOthers": n.apiFromOther, "Etcd": n.etcd, "Postgres": n.postgres,
		"PostgresFromOthers": n.fromOthers, "EtcdSection": n.cluster.etcdSection,
		"Programs": n.cluster.programs, "Dir": n.dir, "Password": password,
	})
	if err != nil {
		n.t.Fatalf("patroni: %v", err)
	}
	if err := os.WriteFile(filepath.Join(n.dir, "patroni.yml"), text.Bytes(), 0o644); err != nil {
		n.t.Fatalf("patroni: %v", err)
	}
}

// Kill ends Patroni and every process of its PostgreSQL with SIGKILL.
func (n *Node) Kill() {
	n.t.Helper()
	_ = n.agent.Process.Kill()
	<-n.gone
	all := n.server()
	signal(all[:min(1, len(all))], syscall.SIGSTOP) // halted first, it cannot start others
	all = n.server()
	signal(all, syscall.SIGKILL)
	for _, pid := range all { // a new server refuses to start beside them
		for deadline := time.Now().Add(timeout); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				n.t.Fatalf("patroni: a process of %s (pid %d) survived SIGKILL", n.Name, pid)
			}
		}
	}
}

// Restart starts the node again after Kill.
func (n *Node) Restart() {
	n.t.Helper()
	n.run()
}

// Stall halts Patroni and every process of its PostgreSQL until the function it returns is
// called. Their connections stay open and answer nothing.
func (n *Node) Stall() (wake func()) {
	n.t.Helper()
	all := append([]int{n.agent.Process.Pid}, n.server()...)
	signal(all, syscall.SIGSTOP)
	signal(n.server(), syscall.SIGSTOP) // those that were started meanwhile
	return func() {
		signal(append([]int{n.agent.Process.Pid}, n.server()...), syscall.SIGCONT)
	}
}

// Isolate cuts the node off from etcd and from the other nodes. Clients still reach it.
func (n *Node) Isolate() (rejoin func()) {
	for _, l := range n.links {
		l.cut()
	}
	return func() {
		for _, l := range n.links {
			l.mend()
		}
	}
}

// server lists the processes of the node's PostgreSQL, the first of which is the postmaster.
func (n *Node) server() []int {
	text, err := os.ReadFile(filepath.Join(n.dir, "data", "postmaster.pid"))
	if err != nil {
		return nil
	}
	first, _, _ := strings.Cut(string(text), "\n")
	postmaster, err := strconv.Atoi(first)
	if err != nil || syscall.Kill(postmaster, 0) != nil {
		return nil
	}
	all := []int{postmaster}
	list, err := exec.Command("ps", "-o", "pid=", "--ppid", first).Output()
	if err != nil {
		return all // it has no children
	}
	for line := range strings.Lines(string(list)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func signal(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, s) // it may have ended
	}
}

// probeClient asks a Patroni that may be stalled.
var probeClient = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// leads reports whether the node's Patroni holds the leader's key and its server takes writes.
func (n *Node) leads() bool {
	response, err := probeClient.Get("http://" + n.api + "/primary")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// member is what Patroni says of a node.
type member struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	State    string `json:"state"`
	Timeline int    `json:"timeline"`
}

// members is the cluster as the node sees it.
func (n *Node) members() ([]member, error) {
	response, err := probeClient.Get("http://" + n.api + "/cluster")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var cluster struct {
		Members []member `json:"members"`
	}
	err = json.NewDecoder(response.Body).Decode(&cluster)
	return cluster.Members, err
}

// spawn starts a program as the server's user. It is sent a signal when this process dies.
func (c *Cluster) spawn(
	dir, log string, atDeath syscall.Signal, name string, args ...string,
) (*exec.Cmd, chan struct{}) {
	c.t.Helper()
	out, err := os.OpenFile(filepath.Join(dir, log), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		c.t.Fatalf("patroni: %v", err)
	}
	defer out.Close() // the process has it
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:" + c.programs, "HOME=" + dir, "LC_ALL=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.credential, Setpgid: true, Pdeathsig: atDeath}
	started, gone := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the signal is sent when this thread ends
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(gone)
	}()
	if err := <-started; err != nil {
		c.t.Fatalf("patroni: start %s: %v", name, err)
	}
	return cmd, gone
}

// lastWords are the last lines of a log.
func lastWords(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const keep = 3000
	return fmt.Sprintf("%s:\n%s", path, text[max(0, len(text)-keep):])
}

// Address is the node's own, of the database with Beats: it leads to no other server.
func (n *Node) Address() string { return n.address("postgres") }

func (n *Node) address(database string) string {
	return fmt.Sprintf("postgres://postgres:%s@%s/%s?sslmode=disable", password, n.postgres, database)
}
