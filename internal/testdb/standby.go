package testdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// PostgresStandby starts a hot standby of a [PostgresServer], which follows it by
// streaming until it is promoted. The test is skipped where PostgreSQL's binaries, or
// pg_basebackup beside them, are not on this machine.
func PostgresStandby(t testing.TB, of *Server) *Server {
	t.Helper()
	standby := *postgres
	standby.local = func(dir string, port int, d Durability) (*recipe, error) {
		r, err := postgresLocal(dir, port, d)
		if err != nil {
			return nil, err
		}
		copies := filepath.Join(filepath.Dir(r.serve[0]), "pg_basebackup")
		if _, err := os.Stat(copies); err != nil {
			return nil, fmt.Errorf("%w (%s)", errMissing, copies)
		}
		r.prepare = []string{copies, "--dbname=" + of.URL, "--pgdata=" + filepath.Join(dir, "data"),
			"--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"}
		return r, nil
	}
	s, err := standby.startLocal(Durable)
	if errors.Is(err, errMissing) {
		t.Skip("NOT TESTED:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}
