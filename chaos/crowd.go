package chaos

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Crowd is one scheduler in peace, with many jobs that are due together, and a
// target that answers at once and notes when it was called.
type Crowd struct {
	serve  *process
	server *http.Server
	health string // base URL of the scheduler's own

	mu    sync.Mutex
	calls map[string][]time.Duration // by scheduled time: how late each call came
	runs  map[string]int
}

// crowdHead and crowdJob are its registry.
const (
	crowdHead = "version: 1\nname: crowd\njobs:\n"
	crowdJob  = "  - {id: j%05d, schedule: %q, targetUrlEnv: SERVICE_URL, path: /w, overlap: allow}\n"
)

// NewCrowd starts a scheduler with that many jobs of one schedule.
func NewCrowd(cronce, dir, db, schedule string, jobs int) (*Crowd, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &Crowd{calls: map[string][]time.Duration{}, runs: map[string]int{}}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = c.server.Serve(l) }() // ends with Close
	text := strings.Builder{}
	text.WriteString(crowdHead)
	for i := range jobs {
		fmt.Fprintf(&text, crowdJob, i, schedule)
	}
	config := filepath.Join(dir, "cronce.yaml")
	if err := os.WriteFile(config, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	c.health = "http://" + address
	c.serve = &process{name: "serve", dir: dir, env: []string{"SERVICE_URL=http://" + l.Addr().String()}}
	c.serve.args = []string{cronce, "serve", "--config", config, "--db", db, "--listen", address}
	return c, c.serve.start()
}

// ServeHTTP notes how late a call is.
func (c *Crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	text := r.Header.Get("Cronce-Scheduled-At")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		http.Error(w, "no Cronce-Scheduled-At", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.calls[text] = append(c.calls[text], now.Sub(at))
	c.runs[r.Header.Get("Idempotency-Key")]++
	c.mu.Unlock()
	fmt.Fprint(w, "{}")
}

// Round is what became of one scheduled time of all jobs.
type Round struct {
	ScheduledAt   string
	Calls         int
	P50, P99, Max time.Duration // lateness
}

// Rounds are the scheduled times that have been called, oldest first.
func (c *Crowd) Rounds() []Round {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Round
	for at, late := range c.calls {
		late = slices.Sorted(slices.Values(late))
		list = append(list, Round{at, len(late), late[len(late)/2], late[len(late)*99/100], late[len(late)-1]})
	}
	slices.SortFunc(list, func(a, b Round) int { return strings.Compare(a.ScheduledAt, b.ScheduledAt) })
	return list
}

// Repeated counts runs that were called more than once.
func (c *Crowd) Repeated() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, calls := range c.runs {
		if calls > 1 {
			n++
		}
	}
	return n
}

// Forget drops what was noted, so that the harness does not grow.
func (c *Crowd) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.calls)
	clear(c.runs)
}

// Memory is the scheduler's resident memory in bytes, now and at its peak.
func (c *Crowd) Memory() (now, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.serve.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kb, _ := strconv.ParseInt(fields[1], 10, 64) // other lines are no numbers
		switch fields[0] {
		case "VmRSS:":
			now = kb << 10
		case "VmHWM:":
			peak = kb << 10
		}
	}
	return now, peak, nil
}

// Metrics are the scheduler's own, as text.
func (c *Crowd) Metrics() (string, error) {
	r, err := http.Get(c.health + "/metrics")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return string(text), err
}

// Crashed tells of a scheduler that ended by itself.
func (c *Crowd) Crashed() error {
	if c.serve.alive() {
		return nil
	}
	return fmt.Errorf("the scheduler ended by itself:\n%s", c.serve.tail(30))
}

// Close ends the scheduler, as an operator does, and the target.
func (c *Crowd) Close() error {
	defer c.server.Close()
	return c.serve.terminate(time.Minute)
}
