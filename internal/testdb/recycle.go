package testdb

import (
	"net/url"
	"sync"

	"github.com/jackc/pgx/v5"
)

// idle holds emptied databases of a server that is thrown away with the tests.
// To make a database takes PostgreSQL ten times as long as to empty one, and to
// drop one is a checkpoint.
type idle struct {
	mu        sync.Mutex
	databases []string
}

func (i *idle) take() (database string, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := len(i.databases)
	if n == 0 {
		return "", false
	}
	database, i.databases = i.databases[n-1], i.databases[:n-1]
	return database, true
}

func (i *idle) put(database string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.databases = append(i.databases, database)
}

// postgresEmpty ends the sessions of a database, drops all schemas and gives it a
// new name, which no connection that a failed test left behind knows. An error
// means that the database cannot be used again: the test changed what is not in a
// schema, or connects anew all the time.
func postgresEmpty(server, database, name string) (string, error) {
	u, err := url.Parse(database)
	if err != nil {
		return "", err
	}
	old := u.Path[1:]
	if err := maintenance.exec(server, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1`, old); err != nil {
		return "", err
	}
	if err := postgresExec(database, postgresReset); err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), maintenance.exec(server, "ALTER DATABASE "+old+" RENAME TO "+name)
}

const postgresReset = `DO $reset$
DECLARE s name;
BEGIN
	IF EXISTS (SELECT FROM pg_database d WHERE datname = current_database() AND (datacl IS NOT NULL OR datconnlimit <> -1
			OR EXISTS (SELECT FROM pg_db_role_setting WHERE setdatabase = d.oid)))
		OR EXISTS (SELECT FROM pg_largeobject_metadata) OR EXISTS (SELECT FROM pg_event_trigger)
		OR EXISTS (SELECT FROM pg_publication) OR EXISTS (SELECT FROM pg_default_acl)
		OR EXISTS (SELECT FROM pg_prepared_xacts WHERE database = current_database())
		OR EXISTS (SELECT FROM pg_replication_slots WHERE database = current_database())
		OR EXISTS (SELECT FROM pg_extension WHERE extname <> 'plpgsql') THEN
		RAISE 'more than schemas is left';
	END IF;
	FOR s IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname <> 'information_schema' LOOP
		EXECUTE format('DROP SCHEMA %I CASCADE', s);
	END LOOP;
	CREATE SCHEMA public;
	IF current_setting('server_version_num')::int >= 150000 THEN
		ALTER SCHEMA public OWNER TO pg_database_owner;
		GRANT USAGE ON SCHEMA public TO PUBLIC;
	ELSE
		GRANT ALL ON SCHEMA public TO PUBLIC;
	END IF;
END $reset$`

// postgresExec runs a statement on a connection of its own.
func postgresExec(server, statement string, args ...any) error {
	ctx, cancel := bounded()
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement, args...)
	return err
}

// maintenance makes, renames and drops databases.
var maintenance = sessions{idle: map[string][]*pgx.Conn{}}

// sessions keeps connections to servers, since to connect takes PostgreSQL longer than most
// statements. They end with the process or the server.
type sessions struct {
	mu   sync.Mutex
	idle map[string][]*pgx.Conn
}

// exec runs a statement on a connection that no other goroutine uses.
func (s *sessions) exec(server, statement string, args ...any) error {
	ctx, cancel := bounded()
	defer cancel()
	conn := s.take(server)
	for conn != nil && conn.Ping(ctx) != nil { // the server has stopped meanwhile
		conn = s.take(server)
	}
	if conn == nil {
		var err error
		if conn, err = pgx.Connect(ctx, server); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, statement, args...)
	s.put(server, conn)
	return err
}

// take returns an idle connection, or nil.
func (s *sessions) take(server string) *pgx.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := s.idle[server]
	if len(idle) == 0 {
		return nil
	}
	s.idle[server] = idle[:len(idle)-1]
	return idle[len(idle)-1]
}

func (s *sessions) put(server string, conn *pgx.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle[server] = append(s.idle[server], conn)
}
