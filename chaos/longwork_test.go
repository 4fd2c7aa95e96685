package chaos_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/chaos"
	"github.com/cronce/cronce/internal/testdb"
)

// Work of four times its job's timeout has one effect while the worker, the scheduler
// and the database servers are killed at each step of a run.
func TestLongWorkHasOneEffect(t *testing.T) {
	cronce := build(t, "cronce", "scheduler")
	for _, engine := range []string{chaos.EngineSQLite, chaos.EnginePostgres, chaos.EngineMariaDB, chaos.EngineScript} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			must(t, longWork(t, cronce, engine, scriptText(t)))
		})
	}
	t.Run("a script without its lock is detected", func(t *testing.T) {
		t.Parallel()
		careless := strings.Replace(scriptText(t), "flock -n 9 || exit 0", ":", 1)
		if err := longWork(t, cronce, chaos.EngineScript, careless); !errors.Is(err, chaos.ErrBroken) {
			t.Errorf("got %v, want doubled effects detected", err)
		}
	})
}

func scriptText(t *testing.T) string {
	text, err := os.ReadFile("../examples/shell/until-done")
	must(t, err)
	return string(text)
}

func longWork(t *testing.T, cronce, engine, script string) error {
	server := testdb.PostgresServer(t)
	database, err := server.Create("chaos")
	must(t, err)
	l := &chaos.LongWork{
		Cronce: cronce, Dir: workDir(t), Ledger: database, Engine: engine,
		Servers: map[string]chaos.Server{"PostgreSQL": crashing{server}},
	}
	l.Worker, err = os.Executable()
	must(t, err)
	switch engine {
	case chaos.EngineSQLite:
		l.Keys = filepath.Join(l.Dir, "keys.db")
	case chaos.EnginePostgres:
		l.Keys, err = server.Create("keys")
	case chaos.EngineMariaDB:
		keys := testdb.MariaDBServer(t)
		l.Servers["MariaDB"] = crashing{keys}
		l.Keys, err = keys.Create("chaos_keys")
	case chaos.EngineScript:
		l.Keys = filepath.Join(l.Dir, "until-done")
		err = os.WriteFile(l.Keys, []byte(script), 0o700)
	}
	must(t, err)
	return l.Run(t.Context())
}
