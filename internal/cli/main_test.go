package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/cli"
	"github.com/cronce/cronce/internal/cli/command"
)

// TestMain lets the tests run this binary as cronce, in a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("CRONCE_TEST_AS_BINARY") == "1" {
		cli.Main("", os.Exit)
	}
	goleak.VerifyTestMain(m)
}

// patience is how long anything is waited for that is sure to come, on a machine
// however busy.
const patience = 2 * time.Minute

const (
	exitDone    = command.ExitDone
	exitFailed  = command.ExitFailed
	exitUsage   = command.ExitUsage
	exitChanges = command.ExitChanges
)

// streams are where a command reads and prints.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func runAt(ctx context.Context, args []string, std streams, lookup func(string) (string, bool), now func() time.Time) int {
	return cli.Run(ctx, &command.Env{In: std.in, Out: std.out, Err: std.err, Version: "dev", Lookup: lookup, Now: now}, args)
}

// invoke runs a command in this process.
func invoke(t *testing.T, env map[string]string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = runAt(t.Context(), args, streams{strings.NewReader(""), &o, &e}, func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}, time.Now)
	return code, o.String(), e.String()
}

// process is cronce in a process of its own.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	log *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func spawn(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(binary, args...), log: &lockedBuffer{}}
	p.cmd.Env = append(append(os.Environ(), "CRONCE_TEST_AS_BINARY=1"), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of %v:\n%s", args, p.log)
		}
	})
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// terminate asks the process to stop and returns its exit code.
func (p *process) terminate() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

// wait waits for the process's end and returns its exit code.
func (p *process) wait() int {
	p.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// eventually asks until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within the time: %s", what)
		case <-tick.C:
		}
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cronce.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
