package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/cli"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/testproc"
)

// TestMain lets the tests run this binary as cronce, in a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("CRONCE_TEST_AS_BINARY") == "1" {
		cli.Main("", os.Exit)
	}
	goleak.VerifyTestMain(m)
}

// maxWait is the time after which a test fails that waits for something.
const maxWait = testproc.MaxWait

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
	*testproc.Process
	t *testing.T
}

// spawn runs cronce in a process of its own.
func spawn(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &process{testproc.Start(t, exec.Command(binary, args...), append(env, "CRONCE_TEST_AS_BINARY=1")...), t}
}

// eventually asks until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
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
