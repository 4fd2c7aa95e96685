package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// pool is what the sessions of the service's pool are taken to have in common.
type pool struct {
	silence           int64 // their wait_timeout, in seconds
	mariaDB           bool
	rollbackOnTimeout bool // the server's innodb_rollback_on_timeout
}

// sessions reads once what the pool's sessions are like.
func (d *dialect) sessions(ctx context.Context, q sqlkeys.Querier) (*pool, error) {
	if p := d.pool.Load(); p != nil {
		return p, nil
	}
	p := &pool{}
	row := q.QueryRowContext(ctx, `SELECT @@SESSION.wait_timeout, VERSION() LIKE '%MariaDB%', @@GLOBAL.innodb_rollback_on_timeout LIMIT 1`)
	if err := row.Scan(&p.silence, &p.mariaDB, &p.rollbackOnTimeout); err != nil {
		return nil, err
	}
	d.pool.Store(p)
	return p, nil
}

// Open has the server end a session that is silent for longer than maxRun.
func (d *dialect) Open(ctx context.Context, conn *sql.Conn, maxRun time.Duration) (func(context.Context) error, error) {
	seconds := max(1, int64((maxRun+time.Second-1)/time.Second))
	p, err := d.sessions(ctx, conn)
	if err != nil || p.silence <= seconds {
		return nil, err
	}
	_, err = conn.ExecContext(ctx, `SET @idempotency_wait = @@SESSION.wait_timeout, SESSION wait_timeout = ?`, seconds)
	return func(ctx context.Context) error {
		_, err := conn.ExecContext(ctx, `SET SESSION wait_timeout = @idempotency_wait`)
		return err
	}, err
}

// Check implements [sqlkeys.Dialect].
func (d *dialect) Check(ctx context.Context, conn *sql.Conn) (problems []error) {
	var ignored, isolation, completion, client, connection string
	row := conn.QueryRowContext(ctx, `SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')`)
	if err := errors.Join(row.Scan(&ignored, &isolation),
		conn.QueryRowContext(ctx, `SELECT @@SESSION.completion_type, @@SESSION.character_set_client, @@SESSION.character_set_connection LIMIT 1`).
			Scan(&completion, &client, &connection)); err != nil {
		return []error{err}
	}
	if completion != "NO_CHAIN" {
		problems = append(problems, fmt.Errorf("mysql: the pool's sessions have completion_type %s, with which a transaction is "+
			"open after each COMMIT; set it to NO_CHAIN", completion))
	}
	if err := checkCharacterSets(client, connection); err != nil {
		problems = append(problems, err)
	}
	if isolation == "READ-UNCOMMITTED" {
		problems = append(problems, errors.New("mysql: the pool's sessions are READ UNCOMMITTED, so that work acts on what may yet "+
			"be rolled back; set transaction_isolation to READ-COMMITTED or stricter"))
	}
	return problems
}

// checkCharacterSets returns an error unless every value reaches the server as it was sent.
func checkCharacterSets(client, connection string) error {
	// utf8mb4 has every character. In the others every byte is one. In utf8mb3 the server
	// refuses characters of four bytes.
	if !slices.Contains([]string{"utf8mb4", "latin1", "ascii", "binary"}, client) {
		return fmt.Errorf("mysql: the pool's connections have the character set %s, in which not every text can be sent; set charset=utf8mb4",
			client)
	}
	// The server converts each value from the client's set to the connection's. A
	// character that the latter lacks becomes "?", without an error.
	if connection != client {
		return fmt.Errorf("mysql: the server converts the values that the pool's connections send from the character set %s to %s, "+
			"which can change them; set charset=utf8mb4 and remove character_set_connection and collation_connection", client, connection)
	}
	return nil
}
