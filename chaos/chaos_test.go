package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/cronce/cronce/chaos"
	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
)

var (
	duration = flag.Duration("duration", 20*time.Second, "how long things are broken, for each engine")
	binaries = flag.String("bin", "", "a directory with cronce and bootstrap, to break these; empty: built from this checkout")
	seed     = flag.Uint64("seed", 0, "of the faults; 0: a new one, which is printed")
)

// TestMain lets this binary be the target service, in a process of its own.
func TestMain(m *testing.M) {
	if chaos.IsService() {
		if err := chaos.ServeTarget(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// crashing is a PostgreSQL whose stops are crashes.
type crashing struct{ *testdb.Server }

func (c crashing) Crash() error { return c.Stop(testdb.Immediate) }

func TestNothingIsLostOrDoubledOnPostgreSQL(t *testing.T) { run(t, false) }

func TestNothingIsLostOrDoubledOnSQLite(t *testing.T) { run(t, true) }

func run(t *testing.T, embedded bool) {
	server := testdb.PostgresServer(t)
	database, err := server.Create("chaos")
	must(t, err)
	service, err := os.Executable()
	must(t, err)
	dir := workDir(t)
	story, err := os.Create(filepath.Join(dir, "story.log"))
	must(t, err)
	defer story.Close()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	fmt.Printf("seed %d, %v, logs in %s\n", *seed, *duration, dir)
	out := io.MultiWriter(story, os.Stdout)
	err = chaos.Run(context.Background(), chaos.Setup{
		Cronce: build(t, "cronce", "scheduler"), Function: function(t), Service: service, Dir: dir, Database: database, Embedded: embedded,
	}, crashing{server}, *seed, *duration, out)
	if err != nil {
		t.Fatalf("seed %d: %v", *seed, err)
	}
}

// workDir is a directory that stays when the test fails: its logs are needed.
func workDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cronce-chaos-")
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

// build builds a program of the product's, as `make build` does.
func build(t *testing.T, name, folder string) string {
	t.Helper()
	if *binaries != "" {
		return filepath.Join(*binaries, name)
	}
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/"+folder)
	cmd.Dir = ".." // the product's module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
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
