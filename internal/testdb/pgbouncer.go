package testdb

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// PgBouncer starts a PgBouncer that pools the transactions of a PostgreSQL
// database, in a few sessions so that clients share them, and returns the
// database's URL through it. It takes no start-up parameter but those that it
// knows, as by default.
func PgBouncer(t testing.TB, database string) string {
	t.Helper()
	return PgBouncerServer(t, database).URL
}

// PgBouncerServer is PgBouncer for tests that crash it by Stop(Immediate).
func PgBouncerServer(t testing.TB, database string) *Server {
	t.Helper()
	skipIfShort(t)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	pooler := &engine{
		name: "PgBouncer", account: "postgres", ping: postgres.ping,
		local: func(dir string, port int, _ Durability) (*recipe, error) { return pgBouncerLocal(dir, port, u) },
		url:   func(port int) string { return onPort(u, port) },
	}
	s, err := pooler.startLocal(Volatile)
	if errors.Is(err, errMissing) {
		if err := install(); err != nil {
			t.Fatalf("PgBouncer: no binary on this machine, and installing failed: %v.\n"+
				"Install it (as root: scripts/install-databases), or set SHORT=1 to leave it untested", err)
		}
		s, err = pooler.startLocal(Volatile)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func onPort(u *url.URL, port int) string {
	through := *u
	through.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	query := through.Query()
	query.Set("sslmode", "disable")
	through.RawQuery = query.Encode()
	return through.String()
}

// supervised starts a program again when it ends unasked, as systemd does: PgBouncer
// 1.18, which Debian 12 has, crashes now and then when a client cancels a statement
// (https://github.com/pgbouncer/pgbouncer/issues/822). SIGTERM ends both. It kills the
// program, which from 1.23 on would wait for its clients and stores nothing.
const supervised = `
trap 'kill -KILL $!; wait; exit' TERM
begun=$(date +%s)
while :; do
	"$@" &
	wait $!
	status=$?
	if [ $status -ne 0 ] && [ "$(date +%s)" -le $((begun + 1)) ]; then
		exit $status # it cannot start
	fi
	echo "ended unasked with status $status; started again"
	sleep 0.1
done`

func pgBouncerLocal(dir string, port int, to *url.URL) (*recipe, error) {
	binary, err := find([]string{"pgbouncer"}, "/usr/sbin/pgbouncer")
	if err != nil {
		return nil, err
	}
	server := "host=" + to.Hostname()
	if to.Port() != "" {
		server += " port=" + to.Port()
	}
	server += " user=" + to.User.Username()
	if password, ok := to.User.Password(); ok {
		server += " password=" + password
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	settings := fmt.Sprintf(`[databases]
* = %s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 500
`, server, port)
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		return nil, err
	}
	return &recipe{
		serve: []string{"/bin/sh", "-c", supervised, "sh", binary, file}, ready: onPort(to, port),
		fast: syscall.SIGTERM, immediate: syscall.SIGTERM,
	}, nil
}
