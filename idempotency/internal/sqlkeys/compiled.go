package sqlkeys

import (
	"context"
	"database/sql"
	"sync"
)

// compiled is a database whose statements stay compiled on its connections:
// compiling one takes SQLite longer than running it.
type compiled struct {
	*sql.DB
	mu         sync.Mutex
	statements map[string]*sql.Stmt
}

// QueryRowContext is that of *sql.DB.
func (c *compiled) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if statement := c.statement(ctx, query); statement != nil {
		return statement.QueryRowContext(ctx, args...)
	}
	return c.DB.QueryRowContext(ctx, query, args...)
}

// statement is nil when the query cannot be compiled; running it tells why.
func (c *compiled) statement(ctx context.Context, query string) *sql.Stmt {
	if statement := c.known(query); statement != nil {
		return statement
	}
	// Not under the lock: this may wait for a connection whose transaction needs it.
	statement, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.statements[query]; first != nil {
		_ = statement.Close() // another call has compiled it meanwhile
		return first
	}
	c.statements[query] = statement
	return statement
}

func (c *compiled) known(query string) *sql.Stmt {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statements[query]
}

// compiledTx is a transaction that runs what is compiled already. To compile more
// would take a second connection.
type compiledTx struct {
	*sql.Tx
	all *compiled
}

// ExecContext is that of *sql.Tx.
func (t compiledTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	statement := t.all.known(query)
	if statement == nil {
		return t.Tx.ExecContext(ctx, query, args...)
	}
	return t.StmtContext(ctx, statement).ExecContext(ctx, args...)
}
