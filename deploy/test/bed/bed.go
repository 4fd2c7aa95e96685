// Package bed has what the tests of deploy/ share: the repository, the programs
// that read what is there, and the binary.
package bed

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// scratch makes the directory of what the tests of a process share.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "cronce-deploy-") })

// Clean removes what the tests shared.
func Clean() {
	if dir, err := scratch(); err == nil {
		os.RemoveAll(dir)
	}
}

// repository finds the root by the product's module.
func repository() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "jobs", "registry.go")); missing == nil {
			return dir, nil
		}
	}
	return "", errors.Join(err, errors.New("not in the repository"))
}

// maxWait is the time after which a test fails that waits for something.
const maxWait = 2 * time.Minute

// Must ends the test with the error, if there is one.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Root is the repository's.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := repository()
	Must(t, err)
	return dir
}

// Read reads a file of the repository.
func Read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Root(t), path))
	Must(t, err)
	return data
}

// Run runs a command in the repository's root and returns what it prints.
func Run(t *testing.T, env []string, command ...string) string {
	t.Helper()
	out, err := Try(t, env, command...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return out
}

// Try is Run for a command that may fail.
func Try(t *testing.T, env []string, command ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := exec.Command(command[0], command[1:]...) // cleanups run some
	c.Dir, c.Env, c.Stdout, c.Stderr = Root(t), append(os.Environ(), env...), &out, &out
	err := c.Run()
	return out.String(), err
}

var installed = sync.OnceValue(func() error {
	dir, err := repository()
	if err != nil {
		return err
	}
	out, err := exec.Command(filepath.Join(dir, "scripts/install-deploy-tools")).CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
})

// Tool finds a program that the script scripts/install-deploy-tools installs.
func Tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if err := installed(); err != nil {
			t.Fatalf("%s is missing: %v", name, err)
		}
		path, err = exec.LookPath(name)
	}
	Must(t, err)
	return path
}

var built struct {
	sync.Once
	path string
	err  error
}

// Binary builds cronce once, as a release does, readable for every account.
func Binary(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := scratch()
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "cronce")
		c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=1.2.3", "-o", built.path,
			"./cmd/scheduler")
		c.Dir, c.Env = Root(t), append(os.Environ(), "CGO_ENABLED=0")
		out, err := c.CombinedOutput()
		built.err = errors.Join(err, os.Chmod(dir, 0o755))
		if err != nil {
			built.err = errors.Join(err, errors.New(string(out)))
		}
	})
	Must(t, built.err)
	return built.path
}

var pages = sync.OnceValues(func() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	c := exec.Command("scripts/release-files", filepath.Join(dir, "release"), "2026-11-22")
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return filepath.Join(dir, "release"), nil
})

// Release writes a release's manual pages and completions once.
func Release(t *testing.T) string {
	t.Helper()
	dir, err := pages()
	Must(t, err)
	return dir
}

// Eventually asks until ok.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within the time: %s", what)
		case <-tick.C:
		}
	}
}
