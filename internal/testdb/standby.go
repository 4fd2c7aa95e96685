package testdb

import (
	"errors"
	"path/filepath"
	"testing"
)

// PostgresStandby starts a hot standby of a [PostgresServer], which follows it by
// streaming until it is promoted. The test is skipped where PostgreSQL's binaries
// are not on this machine.
func PostgresStandby(t testing.TB, of *Server) *Server {
	t.Helper()
	standby := *postgres
	standby.local = func(dir string, port int, d Durability) (*recipe, error) {
		r, err := postgresLocal(dir, port, d)
		if err == nil {
			copies := filepath.Join(filepath.Dir(r.serve[0]), "pg_basebackup")
			r.prepare = []string{copies, "--dbname=" + of.URL, "--pgdata=" + filepath.Join(dir, "data"),
				"--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"}
		}
		return r, err
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
