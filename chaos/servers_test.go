package chaos_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/chaos"
	"github.com/cronce/cronce/internal/testdb"
)

// crashing is a database server whose stops are crashes.
type crashing struct{ *testdb.Server }

func (c crashing) Crash() error { return c.Stop(testdb.Immediate) }

func oneServer(t *testing.T, s *chaos.Setup) chaos.Server {
	t.Helper()
	server, database := primary(t)
	s.Database = database
	return crashing{server}
}

// primary starts a server with a database.
func primary(t *testing.T) (server *testdb.Server, database string) {
	t.Helper()
	server = testdb.PostgresServer(t)
	database, err := server.Create("chaos")
	must(t, err)
	return server, database
}

// turns crashes one of several servers after the other.
type turns struct {
	servers []*testdb.Server
	next    int
}

func (c *turns) Crash() error { return c.current().Stop(testdb.Immediate) }

func (c *turns) Start() error {
	err := c.current().Start()
	c.next++
	return err
}

func (c *turns) current() *testdb.Server { return c.servers[c.next%len(c.servers)] }

func throughPgBouncer(t *testing.T, s *chaos.Setup) chaos.Server {
	t.Helper()
	server, database := primary(t)
	pooler := testdb.PgBouncerServer(t, database)
	s.Database, s.Pooled = database, pooler.URL
	return &turns{servers: []*testdb.Server{pooler, server}}
}

// pair is a primary and its standby, which takes over at the first start.
type pair struct {
	t                *testing.T
	primary, standby *testdb.Server
	promoted         bool
}

func (p *pair) Crash() error {
	if p.promoted {
		return p.standby.Stop(testdb.Immediate)
	}
	return p.primary.Stop(testdb.Immediate)
}

func (p *pair) Start() error {
	if p.promoted {
		return p.standby.Start()
	}
	p.promoted = true
	execute(p.t, p.standby.URL, `SELECT pg_promote(true, 60)`)
	return nil
}

// withStandby has every commit wait until the standby has it on disk. The database's
// URL names both servers, and asks for the one that takes writes.
func withStandby(t *testing.T, s *chaos.Setup) chaos.Server {
	t.Helper()
	first, database := primary(t)
	standby := testdb.PostgresStandby(t, first)
	execute(t, first.URL, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
	execute(t, first.URL, `SELECT pg_reload_conf()`)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for execute(t, first.URL, `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`) == 0 {
		<-tick.C
	}
	both, err := url.Parse(database)
	must(t, err)
	second, err := url.Parse(standby.URL)
	must(t, err)
	both.Host += "," + second.Host
	both.RawQuery += "&target_session_attrs=read-write"
	s.Database = both.String()
	return &pair{t: t, primary: first, standby: standby}
}

// execute returns how many rows the statement returned or changed.
func execute(t *testing.T, url, statement string) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	tag, err := conn.Exec(t.Context(), statement)
	must(t, err)
	return tag.RowsAffected()
}
