package chaos_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/chaos"
	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/proof"
)

var (
	duration = flag.Duration("duration", 30*time.Second, "how long things are broken, for each engine")
	binaries = flag.String("bin", "", "a directory with cronce and bootstrap, to break these; empty: built from this checkout")
	seed     = flag.Uint64("seed", 0, "of the faults; 0: a new one, which is printed")
)

// TestMain lets this binary be a target, in a process of its own. Of
// the tests, every goroutine has ended when they have, but for what toxiproxy
// leaves of connections that were cut while a toxic held their data.
func TestMain(m *testing.M) {
	if chaos.IsTarget() {
		if err := chaos.ServeTarget(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"))
}

func TestNothingIsLostOrDoubledOnPostgreSQL(t *testing.T) {
	sound(t, *duration, chaos.Setup{Function: function(t)}, oneServer)
}

func TestNothingIsLostOrDoubledOnSQLite(t *testing.T) {
	sound(t, *duration, chaos.Setup{Embedded: true}, oneServer)
}

// Functions on a ledger of their own: each job goes on with its next event,
// whatever became of the last one.
func TestNothingIsLostOrDoubledByFunctionsAlone(t *testing.T) {
	sound(t, *duration, chaos.Setup{FunctionsOnly: true, Function: function(t)}, oneServer)
}

// The first crash ends the primary for good, and its synchronous standby is
// promoted.
func TestNothingIsLostOrDoubledWhenAStandbyIsPromoted(t *testing.T) {
	sound(t, *duration, chaos.Setup{Function: function(t)}, withStandby)
}

// The pooler and the server behind it crash in turns.
func TestNothingIsLostOrDoubledThroughPgBouncer(t *testing.T) {
	sound(t, *duration, chaos.Setup{Function: function(t)}, throughPgBouncer)
}

// The harness can fail: a target that does not keep keys is detected, and one whose lists are
// other ones than it notes.
func TestATargetWithoutTheKitIsDetected(t *testing.T) {
	s := chaos.Setup{Embedded: true, Keyless: true}
	if err := run(t, 10*time.Second, &s, oneServer); !errors.Is(err, chaos.ErrBroken) {
		t.Errorf("got %v, want doubled effects detected", err)
	}
	story, err := os.ReadFile(filepath.Join(s.Dir, "story.log"))
	must(t, err)
	for _, want := range []string{
		string(proof.TwoEffects) + ": payroll@", string(proof.TwoEffects) + ": bill::", string(proof.Torn) + ": bill@",
	} {
		if !strings.Contains(string(story), want) {
			t.Errorf("not detected: %s", want)
		}
	}
}

func sound(t *testing.T, d time.Duration, s chaos.Setup, on func(*testing.T, *chaos.Setup) chaos.Server) {
	t.Helper()
	if err := run(t, d, &s, on); err != nil {
		t.Fatalf("seed %d: %v", *seed, err)
	}
}

// run breaks a fleet; on starts its database and puts the URL in the setup.
func run(t *testing.T, d time.Duration, s *chaos.Setup, on func(*testing.T, *chaos.Setup) chaos.Server) (err error) {
	t.Helper()
	server := on(t, s)
	s.Cronce, s.Dir = build(t, "cronce", "scheduler"), workDir(t)
	s.Service, err = os.Executable()
	must(t, err)
	story, err := os.Create(filepath.Join(s.Dir, "story.log"))
	must(t, err)
	defer story.Close()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	fmt.Printf("seed %d, %v, logs in %s\n", *seed, d, s.Dir)
	return chaos.Run(context.Background(), *s, server, *seed, d, io.MultiWriter(story, os.Stdout))
}

// workDir is a directory that stays when the test fails: its logs are needed.
func workDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cronce-chaos-") //nolint:usetesting // TempDir does not stay
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs of all processes are kept in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

// function starts execution environments of the Lambda.
func function(t *testing.T) func(...string) chaos.Function {
	bootstrap := build(t, "bootstrap", "lambda")
	return func(vars ...string) chaos.Function { return fakelambda.New(t, bootstrap, vars...) }
}

// build builds a program of the product's, as `make build` does, with flags of the go
// command besides.
func build(t *testing.T, name, folder string, flags ...string) string {
	t.Helper()
	if *binaries != "" {
		return filepath.Join(*binaries, name)
	}
	path := filepath.Join(t.TempDir(), name)
	args := append([]string{"build", "-trimpath", "-o", path}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/"+folder)...)
	cmd.Dir = ".."                                             // the product's module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=") // the tree's go.work, not one of this module alone
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
