package testdb

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Mode is how a server is stopped.
type Mode string

const (
	// Fast: clients are disconnected, everything is written out, as an
	// operator restarts a server.
	Fast Mode = "fast"
	// Immediate: as a crash; the next start recovers from the log.
	Immediate Mode = "immediate"
)

// Server is one database server.
type Server struct {
	// URL leads to its maintenance database. It stays the same over a Stop and
	// a Start.
	URL string

	engine *engine
	recipe *recipe
	keeper *keeper // nil: the server is not ours to stop
	// disposable: what is left on the server goes with it.
	disposable bool
	idle       idle
}

// Start starts a stopped server and returns when it answers.
func (s *Server) Start() error {
	if err := s.keeper.start(); err != nil {
		return err
	}
	deadline := time.Now().Add(maxWait)
	for {
		err := s.engine.ping(s.recipe.ready)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer after %v: %w\n%s", maxWait, err, s.keeper.log())
		}
		if exited, err := s.keeper.exited(20 * time.Millisecond); exited || err != nil {
			return errors.Join(fmt.Errorf("the server ended:\n%s", s.keeper.log()), err)
		}
	}
}

// Stop stops the server and returns when its process has ended.
func (s *Server) Stop(mode Mode) error {
	if mode == Immediate {
		return s.keeper.stop(s.recipe.immediate)
	}
	return s.keeper.stop(s.recipe.fast)
}

// Create makes a fresh, empty database on the server and returns its URL. It
// goes with the server.
func (s *Server) Create(name string) (string, error) { return s.create(name) }

// lend returns a fresh, empty database.
func (s *Server) lend() (url string, err error) {
	if url, ok := s.idle.take(); ok {
		return url, nil
	}
	return s.create(anyName())
}

// takeBack empties a database for the next test, or drops it.
func (s *Server) takeBack(database string) error {
	if s.disposable && s.engine.empty != nil {
		if url, err := s.engine.empty(s.URL, database, anyName()); err == nil {
			s.idle.put(url)
			return nil
		}
	}
	return s.drop(database)
}

func anyName() string { return "cronce_" + strings.ToLower(rand.Text()[:16]) }

func (s *Server) create(name string) (string, error) {
	url, err := s.engine.create(s.URL, name)
	if err != nil {
		return "", fmt.Errorf("create a database on %s: %w", s.engine.name, err)
	}
	return url, nil
}

func (s *Server) drop(database string) error { return s.engine.drop(s.URL, database) }

func (s *Server) close() {
	if s.keeper != nil {
		s.keeper.close()
	}
}

// Shared is one server of each engine, for a command that runs many test
// binaries.
type Shared struct{ servers []*Server }

// Share starts the servers that the environment does not name already. Benchmarks
// want them durable, as production's are; tests are faster without.
func Share(d Durability) (*Shared, error) {
	var s Shared
	for _, e := range []*engine{postgres, mariadb, oracle} {
		server, err := e.shared(d)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			s.Close()
			return nil, err
		}
		s.servers = append(s.servers, server)
	}
	return &s, nil
}

// Environ is the process's environment with the variables by which tests find
// the servers.
func (s *Shared) Environ() []string {
	env := os.Environ()
	for _, server := range s.servers {
		env = append(env, server.engine.env+"="+server.URL)
		if server.disposable {
			env = append(env, server.engine.disposable()+"=1")
		}
	}
	return env
}

// Close stops the servers and removes what they stored.
func (s *Shared) Close() {
	for _, server := range s.servers {
		server.close()
	}
}
