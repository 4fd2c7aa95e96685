package testdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// An engine is one kind of database server: how to find it, start it and talk
// to it.
type engine struct {
	name    string // as users write it
	env     string // the variable that names a server of the user's
	account string // the user that Debian's package runs it as
	// optional: where this machine has no such server, its tests are skipped.
	optional bool

	// local finds the server's binaries and prepares how to run them in dir;
	// errMissing when they are not there.
	local func(dir string, port int, d Durability) (*recipe, error)
	// docker prepares how to run the server's image.
	docker func(port int, d Durability) *recipe

	// url is the maintenance URL of a server on a TCP port of this machine.
	url func(port int) string
	// ping fails until the server at url answers.
	ping func(url string) error
	// create makes a database on the server at url and returns its URL.
	create func(url, name string) (string, error)
	// drop undoes create.
	drop func(url, database string) error
	// empty makes a used database as new under another name. Nil: create and drop
	// are quick.
	empty func(url, database, name string) (string, error)
}

// A recipe is how to run one server.
type recipe struct {
	prepare []string // run once before the first start; may be empty
	serve   []string
	// ready is the URL by which its start is awaited. It is a socket in the
	// server's own directory where that can be had: another server may have
	// taken the TCP port in the meantime.
	ready           string
	fast, immediate syscall.Signal
}

// Durability says whether a server must survive a crash.
type Durability bool

const (
	Durable  Durability = true  // the server's defaults
	Volatile Durability = false // no fsync
)

var (
	errMissing = errors.New("no server binaries found")
	// errAbsent says that this machine has no server of an optional engine.
	errAbsent = errors.New("no such server on this machine")
)

// disposable is the variable which says that the server named by env ends with
// the tests, whatever databases are left on it.
func (e *engine) disposable() string { return e.env + "_DISPOSABLE" }

// shared returns the server that the environment names, or else one that stops
// when this process ends.
func (e *engine) shared(d Durability) (*Server, error) {
	if url := os.Getenv(e.env); url != "" {
		s := &Server{URL: url, engine: e, disposable: os.Getenv(e.disposable()) != ""}
		if err := e.ping(url); err != nil {
			return nil, fmt.Errorf("the server named by %s does not answer: %w", e.env, err)
		}
		return s, nil
	}
	return e.start(d)
}

// start starts a server by the machine's own binaries, by Docker, or by the
// binaries that the install script brings.
func (e *engine) start(d Durability) (*Server, error) {
	s, err := e.startLocal(d)
	if !errors.Is(err, errMissing) {
		return s, err
	}
	if dockerAnswers() {
		return e.startDocker(d)
	}
	if e.optional {
		return nil, fmt.Errorf("%w: %s", errAbsent, e.name)
	}
	if err := install(); err != nil {
		return nil, fmt.Errorf("%s: no binaries on this machine, Docker does not answer, and installing failed: %w.\n"+
			"Install it (as root: scripts/install-databases), or start Docker, or set %s to a server of yours, "+
			"or set SHORT=1 to leave it untested", e.name, err, e.env)
	}
	return e.startLocal(d)
}

// tries is how often a start is tried again: between the choice of a port and
// its use another process may take it.
const tries = 3

func (e *engine) startLocal(d Durability) (*Server, error) {
	return e.retry(func() (*Server, error) {
		account, err := accountFor(e.account)
		if err != nil {
			return nil, err
		}
		dir, err := account.tempDir()
		if err != nil {
			return nil, err
		}
		port, err := FreePort()
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		r, err := e.local(dir, port, d)
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		return e.run(r, account, dir, port)
	})
}

func (e *engine) startDocker(d Durability) (*Server, error) {
	return e.retry(func() (*Server, error) {
		dir, err := os.MkdirTemp("", "cronce-testdb-")
		if err != nil {
			return nil, err
		}
		port, err := FreePort()
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		return e.run(e.docker(port, d), nil, dir, port)
	})
}

func (e *engine) retry(start func() (*Server, error)) (*Server, error) {
	var errs []error
	for range tries {
		s, err := start()
		if err == nil || errors.Is(err, errMissing) {
			return s, err
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("%s did not start: %w", e.name, errors.Join(errs...))
}

// run prepares and starts a server in dir, which goes with it.
func (e *engine) run(r *recipe, a *account, dir string, port int) (*Server, error) {
	if len(r.prepare) > 0 {
		cmd := exec.Command(r.prepare[0], r.prepare[1:]...)
		cmd.Dir, cmd.SysProcAttr = dir, a.attributes()
		if out, err := cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("%s: %w\n%s", filepath.Base(r.prepare[0]), err, out)
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	k, err := newKeeper(dir, r, a)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &Server{URL: e.url(port), engine: e, recipe: r, keeper: k, disposable: true}
	if err := s.Start(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// find returns the newest of the files that the patterns match, or the first
// name found on PATH.
func find(names []string, patterns ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.EvalSymlinks(path)
		}
	}
	for _, pattern := range patterns {
		if paths, _ := filepath.Glob(pattern); len(paths) > 0 {
			return paths[len(paths)-1], nil
		}
	}
	return "", fmt.Errorf("%w (%s)", errMissing, names[0])
}
