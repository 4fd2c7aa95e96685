package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// maxAge is the maximum age of a connection. A server that is no longer the primary
// answers reads without an error.
const maxAge = 5 * time.Minute

// requirePrimary makes a URL that lists several hosts lead to their primary, unless the URL
// has another target_session_attrs.
func requirePrimary(c *pgx.ConnConfig) {
	for _, f := range c.Fallbacks {
		if c.ValidateConnect == nil && (f.Host != c.Host || f.Port != c.Port) {
			c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
		}
	}
}

// resetOnReadOnly closes all connections when a server refuses to write. After a failover
// the former primary accepts connections and reads, so they would stay in use for ever.
// New connections look the host up again.
func (s *sessions) resetOnReadOnly(c *pgx.ConnConfig) {
	next := c.OnPgError
	c.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code != readOnlyTransaction && err.Code != featureNotSupported {
			return next(conn, err)
		}
		s.Pool.Reset()
		return false
	}
}
