package postgres_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
)

// The tests of this file run a service in a process of its own: this test
// binary again, with a test that serves one request and is killed or stopped
// in the middle of it.

func child(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// TestChild is the other process.
func TestChild(t *testing.T) {
	url := os.Getenv("CHILD_URL")
	if url == "" {
		t.Skip("runs only as the child of another test")
	}
	n, _ := strconv.Atoi(os.Getenv("CHILD_DIES_AT"))
	c := &cutter{left: n, before: os.Getenv("CHILD_DIES") == "before", happened: func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}}
	p := pool(t, url, func(config *pgxpool.Config) { config.ConnConfig.DialFunc, config.MaxConns = c.dial, 2 })
	w := serve(kit(t, p, func(o *idempotency.Options) { o.MaxRun = time.Second }), os.Getenv("CHILD_KEY"), func(w http.ResponseWriter, r *http.Request) {
		pay(w, r)
		if os.Getenv("CHILD_WAITS") != "" {
			fmt.Println("in mid-work")
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		}
	})
	fmt.Println("answered", w.Code)
}

func TestAProcessKilledAtAnyMessageLeavesAllOrNothing(t *testing.T) {
	url := database(t)
	direct := pool(t, url)
	for _, dies := range []string{"before", "after"} {
		for n := 1; ; n++ {
			if n > 100 {
				t.Fatal("the request never came through")
			}
			key := fmt.Sprintf("%s-%d", dies, n)
			start := effects(t, direct)
			out, err := child(t, "CHILD_URL="+url, "CHILD_KEY="+key, "CHILD_DIES="+dies, fmt.Sprint("CHILD_DIES_AT=", n)).Output()
			settled(t, direct, start, key, strings.Contains(string(out), "answered 201"))
			if err == nil {
				break // it came through before its n-th message
			}
		}
	}
}

// A stopped process keeps its connection, and so its lock; the database ends
// its transaction MaxRun after its last statement.
func TestAProcessStoppedInMidWorkFreesItsKeyAfterMaxRun(t *testing.T) {
	url := database(t)
	direct := pool(t, url)
	cmd := child(t, "CHILD_URL="+url, "CHILD_KEY=k", "CHILD_WAITS=1", "CHILD_DIES_AT=0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || lines.Text() != "in mid-work" {
		t.Fatalf("the child said %q", lines.Text())
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	k := kit(t, direct, func(o *idempotency.Options) { o.Wait = 30 * time.Second })
	if w := serve(k, "k", pay); w.Code != 201 || w.Header().Get("Idempotent-Replayed") != "" {
		t.Fatalf("answered %d %s", w.Code, w.Body)
	}
	if d := time.Since(stopped); d > 5*time.Second {
		t.Errorf("the key was free after %v; MaxRun is 1s", d)
	}
	_ = cmd.Process.Signal(syscall.SIGCONT)
	fmt.Fprintln(stdin)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "answered") {
	}
	// The other's work has been done: the stopped one's is rolled back, and it
	// can only say so or give the other's reply.
	if lines.Text() != "answered 503" && lines.Text() != "answered 201" {
		t.Errorf("the stopped process %s", lines.Text())
	}
	if n := effects(t, direct); n != 1 {
		t.Errorf("%d effects", n)
	}
}
