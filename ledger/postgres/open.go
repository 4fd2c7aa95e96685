// Package postgres is a ledger on PostgreSQL 14 or later. Use it if several processes
// or machines run jobs. Any number of processes may work on one database at once. Every
// rule that concerns more than one of them is decided there, by a row lock, a unique
// index or a fence, and by the database's clock.
//
// Whatever the role's or the database's default is, a transaction that writes runs READ
// COMMITTED: its statements rely on re-reading a row that they waited for. One that reads runs
// REPEATABLE READ.
//
// The order of its locks is in docs/design.md#locks.
//
// # Poolers
//
// A pooler in front of the database may pool sessions or transactions. The ledger
// detects it and leaves no settings in a session. The ledger holds few connections
// (PoolSize) and does not need a pooler. If a URL asks for the query mode exec or
// simple_protocol, cache_describe is used instead.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/ledger"
)

// Ledger implements ledger.Store in one schema of a PostgreSQL database. It is safe for
// concurrent use.
type Ledger struct {
	*ledger.Ledger // the rules, over rows
	pool           *sessions
}

type settings struct {
	schema   string
	poolSize int32
	idle     time.Duration
	name     string
	registry string
	around   func(ledger.Rows) ledger.Rows
	tune     func(*pgxpool.Config)
	set      map[string]string // over those of session
}

// Option changes a default of Open.
type Option func(*settings)

// Schema sets the schema of the tables; default "cronce".
func Schema(name string) Option { return func(s *settings) { s.schema = name } }

// PoolSize sets the maximum number of connections; default 8. More do not make the
// ledger faster. A Lambda needs 1.
func PoolSize(n int) Option { return func(s *settings) { s.poolSize = int32(n) } }

// IdleTime sets how long an idle connection is kept; default 30 minutes.
func IdleTime(d time.Duration) Option { return func(s *settings) { s.idle = d } }

// Registry sets the name of the registry that owns the ledger. Open then assigns a new
// ledger to the registry, and returns ledger.ErrOtherRegistry if the ledger belongs to
// another one. By default only Declare checks that.
func Registry(name string) Option { return func(s *settings) { s.registry = name } }

// ApplicationName sets the name that pg_stat_activity shows; default "cronce".
func ApplicationName(name string) Option { return func(s *settings) { s.name = name } }

// Around sets what each transaction goes through, such as a limit of its time.
func Around(f func(ledger.Rows) ledger.Rows) Option { return func(s *settings) { s.around = f } }

// Open connects to a database and checks its tables, which package migrate creates. It
// returns ledger.ErrUnavailable if the database cannot be reached, and ledger.ErrSchema
// if the tables are missing or older than this program. No error shows the URL's
// password.
func Open(ctx context.Context, url string, options ...Option) (*Ledger, error) {
	s := defaults(options)
	config, err := s.config(url)
	if err != nil {
		return nil, err
	}
	pool, err := openSessions(ctx, config, s.session())
	if err != nil {
		return nil, translate("open the ledger", err)
	}
	l := &Ledger{Ledger: ledger.New(s.around(rows{pool})), pool: pool}
	if err := l.check(ctx, s); err != nil {
		l.closeWithin(ctx)
		return nil, err
	}
	return l, nil
}

// closeWithin closes in the background, bounded by cleanupTime, what is not closed
// when ctx ends.
func (l *Ledger) closeWithin(ctx context.Context) {
	closed := make(chan struct{})
	go func() {
		l.pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// check verifies that the database's ledger can be used.
func (l *Ledger) check(ctx context.Context, s settings) error {
	owner, err := l.checkSchema(ctx, s.schema)
	if err != nil || s.registry == "" || owner == s.registry {
		return err
	}
	return l.BindRegistry(ctx, s.registry)
}

// defaults returns the settings that the options leave.
func defaults(options []Option) settings {
	s := settings{schema: defaultSchema, poolSize: 8, name: "cronce", around: func(r ledger.Rows) ledger.Rows { return r }}
	for _, o := range options {
		o(&s)
	}
	return s
}

// config returns the configuration of the pool for a URL. Its error does not repeat the URL, which
// may hold a password.
func (s settings) config(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The parser's own message quotes the URL.
		return nil, errors.New("the ledger's URL cannot be read: it should look like postgres://user:password@host:5432/database?sslmode=verify-full")
	}
	config.MaxConns, config.MinConns = max(s.poolSize, 1), 0 // none is made before openSessions returns
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	if s.idle > 0 {
		config.MaxConnIdleTime, config.HealthCheckPeriod = s.idle, s.idle/2
	}
	config.MaxConnLifetime, config.MaxConnLifetimeJitter = min(config.MaxConnLifetime, maxAge), maxAge/5
	config.PingTimeout = config.ConnConfig.ConnectTimeout
	config.ShouldPing = idle
	requirePrimary(config.ConnConfig)
	// Poolers take these too.
	config.ConnConfig.RuntimeParams["application_name"] = s.name
	config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
	switch config.ConnConfig.DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		// They need pgx's table of Go types, which the function is built
		// without. This mode prepares no statements by name either.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	config.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		registerUTC(c.TypeMap())
		c.PgConn().CustomData()[connectedAt] = time.Now()
		return nil
	}
	if s.tune != nil {
		s.tune(config)
	}
	return config, nil
}

// connectedAt is when a connection was made.
const connectedAt = "connectedAt"

// idle reports whether a connection may have died since it was last used. The pool
// counts the time in which a connection is made as idle time. It would ping a slow
// database's new connections, and give up when they answer slowly too.
func idle(_ context.Context, p pgxpool.ShouldPingParams) bool {
	since, _ := p.Conn.PgConn().CustomData()[connectedAt].(time.Time)
	return min(p.IdleDuration, time.Since(since)) > time.Second
}

// session returns the settings of every statement of the ledger, which override
// those of role and database. No setting is a start-up parameter, since poolers refuse or
// ignore those.
func (s settings) session() map[string]string {
	set := map[string]string{
		"search_path":                 s.schema,
		"standard_conforming_strings": "on", // else the driver refuses to write
		// Of what only reads: see pipeline. What writes says READ COMMITTED READ WRITE.
		"default_transaction_isolation": "repeatable read",
		"default_transaction_read_only": "on",
		// A process that is suspended in a transaction would hold its jobs'
		// rows, and with them the planning of all other processes.
		"idle_in_transaction_session_timeout": "10s",
		// Every statement is a short walk over indexes; compiling one costs
		// more than running it.
		"jit": "off",
		// The tables change faster than their statistics: a plan made while few
		// runs were due would sort or read all that are due for each claim of a
		// burst. The statements are written for their indexes.
		"enable_bitmapscan": "off",
		"enable_seqscan":    "off",
		// Else the server would plan a statement for one run anew each time: the
		// arrays of a plan for any parameters are taken to have ten elements,
		// which looks dearer. It would cost as much as running it.
		"plan_cache_mode": "force_generic_plan",
	}
	maps.Copy(set, s.set)
	return set
}

// registerUTC makes every time that is read a UTC one.
func registerUTC(m *pgtype.Map) {
	codec := &pgtype.TimestamptzCodec{ScanLocation: time.UTC}
	stamp := &pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: codec}
	m.RegisterType(stamp)
	m.RegisterType(&pgtype.Type{Name: "_timestamptz", OID: pgtype.TimestamptzArrayOID, Codec: &pgtype.ArrayCodec{ElementType: stamp}})
}

// checkSchema asks for the version of the tables, and whose ledger it is, without
// parameters: nothing is prepared, which takes one round trip.
func (l *Ledger) checkSchema(ctx context.Context, schema string) (registry string, err error) {
	var have int64
	err = retry(func() error {
		conn, err := l.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		text := `SELECT (SELECT coalesce(max(version_id), 0) FROM ledger_versions WHERE is_applied), (SELECT name FROM registry)`
		if l.pool.pooler.Load() {
			text = `SELECT ` + l.pool.settingsSQL(true) + `; ` + text // one transaction
		}
		results, err := conn.Conn().PgConn().Exec(ctx, text).ReadAll()
		if err == nil {
			row := results[len(results)-1].Rows[0]
			registry = string(row[1])
			have, err = strconv.ParseInt(string(row[0]), 10, 64)
		}
		return err
	})
	if err != nil {
		return "", translate("look at the schema "+schema, err)
	}
	if have < SchemaVersion {
		return "", fmt.Errorf("%w: schema %s is at version %d and this program needs %d; run `cronce migrate up`",
			ledger.ErrSchema, schema, have, SchemaVersion)
	}
	return registry, nil
}

// Ping returns ledger.ErrUnavailable if the database does not answer.
func (l *Ledger) Ping(ctx context.Context) error { return translate("ping", l.pool.Ping(ctx)) }

// CloseIdleConnections closes the connections that are not in use. Later calls open new
// ones. Call it before the process may be frozen, as on Lambda.
func (l *Ledger) CloseIdleConnections(ctx context.Context) {
	for _, c := range l.pool.AcquireAllIdle(ctx) {
		_ = c.Hijack().Close(ctx) // closed in any case
	}
}

// Close waits for the calls in progress and closes the connections.
func (l *Ledger) Close() error {
	l.pool.Close()
	return nil
}
