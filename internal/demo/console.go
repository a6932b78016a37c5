package demo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

// readEvery is how far the console lags behind the parts' logs.
const readEvery = 50 * time.Millisecond

// console is what people see: what happens to the parts, and one line for what
// each of them says in its log that people care about.
type console struct {
	mu       sync.Mutex
	out      io.Writer
	logs     []*followed
	requests bool // show those that were answered; before the banner they are our own
	stop     chan struct{}
	done     chan struct{}
}

// followed is a log that is read while it is written.
type followed struct {
	name    string
	file    *os.File
	reader  *bufio.Reader
	partial string // of a line that is still being written
	last    string // shown; the same complaint twice in a row is one too many
}

func newConsole(out io.Writer) *console {
	c := &console{out: out, stop: make(chan struct{}), done: make(chan struct{})}
	go c.run()
	return c
}

func (c *console) run() {
	defer close(c.done)
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
			c.catchUp()
		}
	}
}

func (c *console) close() {
	close(c.stop)
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.logs {
		_ = f.file.Close()
	}
	c.logs = nil
}

// follow shows what is added to a part's log from now on.
func (c *console) follow(name, path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of %s: %w", name, err)
	}
	_, err = file.Seek(0, io.SeekEnd)
	if err != nil {
		return errors.Join(fmt.Errorf("log of %s: %w", name, err), file.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs = append(c.logs, &followed{name: name, file: file, reader: bufio.NewReader(file)})
	return nil
}

// catchUp shows everything that is in the logs by now.
func (c *console) catchUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readLogs()
}

func (c *console) readLogs() {
	for _, f := range c.logs {
		for {
			text, err := f.reader.ReadString('\n')
			f.partial += text
			if err != nil {
				break // the end, for now
			}
			line := forPeople(f.name, f.partial, c.requests)
			if line != f.last {
				c.show(line)
			}
			f.partial, f.last = "", line
		}
	}
}

// sayf shows something about the demo itself, after what the parts said before it.
func (c *console) sayf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readLogs()
	c.show(fmt.Sprintf(format, args...))
}

// begin shows the banner, and from now on the requests.
func (c *console) begin(banner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readLogs()
	c.requests = true
	fmt.Fprint(c.out, banner)
}

// hideRequests leaves out the requests that are answered until the returned function is called.
func (c *console) hideRequests() (show func()) {
	set := func(shown bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.readLogs()
		c.requests = shown
	}
	set(false)
	return func() { set(true) }
}

func (c *console) show(line string) {
	if line != "" {
		fmt.Fprintf(c.out, "%s  %s\n", time.Now().Format(time.TimeOnly), line)
	}
}

// print shows a text as it is.
func (c *console) print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprint(c.out, text)
}

// entry is what the console needs of a line of a log.
type entry struct {
	Level    slog.Level `json:"level"`
	Msg      string     `json:"msg"`
	Request  string     `json:"request"`
	Method   string     `json:"method"`
	Route    string     `json:"route"`
	Status   int        `json:"status"`
	MS       float64    `json:"ms"`
	Replayed bool       `json:"replayed"`
	Flow     string     `json:"flow"`
	Point    string     `json:"point"`
	Left     string     `json:"left"`
	Event    string     `json:"event"`
	Said     string     `json:"said"`
	Reason   string     `json:"reason"`
	Cause    string     `json:"cause"`
	Error    string     `json:"error"`
}

// forPeople turns a line of a log into one for the console; "" leaves it out.
// The log has everything, including what is left out here.
func forPeople(part, line string, requests bool) string {
	var e entry
	if json.Unmarshal([]byte(line), &e) != nil {
		return "" // not from our logger: a stack trace, which reportExit shows the end of
	}
	switch {
	case e.Msg == "request" && e.Route == acquirer.NotificationsPath && e.Status < http.StatusBadRequest:
		return "" // the acquirer reports settlements all the time
	case e.Msg == "request" && requests:
		return e.answered()
	case e.Msg == "request":
		return ""
	case e.Msg == "webhook" && e.Said != "":
		return fmt.Sprintf("%s received %s: %s", part, e.Event, oneLine(e.Said))
	case e.Msg == "took over":
		return fmt.Sprintf("%s took over %s (%s, at %s): %s", part, e.Request, e.Flow, e.Point, oneLine(e.Left))
	case e.Level >= slog.LevelWarn:
		what := strings.TrimSpace(part + ": " + e.Msg + " " + e.Request)
		return strings.TrimSuffix(what+": "+oneLine(e.Reason+e.Cause+e.Error), ": ")
	}
	return ""
}

// answered is an access-log line: POST /v1/charges 200 req_… 12 ms.
func (e *entry) answered() string {
	line := fmt.Sprintf("%-6s %s %d  %s  %.0f ms", e.Method, e.Route, e.Status, e.Request, e.MS)
	if e.Replayed {
		line += "  replayed"
	}
	if e.Status >= 500 {
		line += "  " + oneLine(e.Error)
	}
	return line
}

func oneLine(text string) string {
	const most = 160
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
