package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sessions runs statements with the ledger's settings.
//
// A session that is the ledger's own gets them once, when it starts. Behind a
// pooler (PgBouncer, RDS Proxy) each transaction may be in another session, with
// other defaults: there every statement runs in a transaction that begins with
// the settings, and no statement is prepared by name. That costs two round trips
// for a statement that would otherwise stand alone.
type sessions struct {
	*pgxpool.Pool
	settings map[string]string
	pooler   atomic.Bool // a connection went through one
	limits   map[string]time.Duration
}

// errPooler ends a connection that was made as if there were no pooler. The next
// one is made for a pooler.
var errPooler = errors.New("the connection goes through a pooler")

// openSessions makes the pool. A connection begins with the ledger's settings, and a failed one is
// an error of the call that needed it.
func openSessions(ctx context.Context, config *pgxpool.Config, settings map[string]string) (*sessions, error) {
	s := &sessions{settings: settings, limits: limits()}
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		if s.pooler.Load() {
			c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		limitCleanup(c)
		return nil
	}
	s.resetOnReadOnly(config.ConnConfig)
	next := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, config.ConnConfig.ConnectTimeout)
		defer cancel()
		if err := s.start(ctx, c); err != nil {
			return err
		}
		return next(ctx, c)
	}
	var err error
	s.Pool, err = pgxpool.NewWithConfig(ctx, config)
	return s, err
}

// start applies the ledger's settings to a new session, unless there is a pooler. A
// pooler sends its clients a process ID of its own, which differs from the server's.
func (s *sessions) start(ctx context.Context, c *pgx.Conn) error {
	var direct bool
	results, err := c.PgConn().Exec(ctx, fmt.Sprintf(
		`SELECT CASE WHEN pg_backend_pid() = %d THEN %s END`, c.PgConn().PID(), s.settingsSQL(false))).ReadAll()
	if err != nil {
		return err
	}
	for _, r := range results {
		direct = len(r.Rows) == 1 && r.Rows[0][0] != nil
	}
	if direct {
		return nil
	}
	s.pooler.Store(true)
	if c.Config().DefaultQueryExecMode != pgx.QueryExecModeCacheDescribe {
		return errPooler
	}
	return nil
}

// settingsSQL returns an SQL expression that makes the settings, for the session or for
// the transaction alone.
func (s *sessions) settingsSQL(local bool) string {
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(s.settings)) {
		calls = append(calls, fmt.Sprintf("set_config('%s', '%s', %t)", name, strings.ReplaceAll(s.settings[name], "'", "''"), local))
	}
	return "concat(" + strings.Join(calls, ", ") + ")"
}
