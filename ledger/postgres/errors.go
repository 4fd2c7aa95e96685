package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/cronce/cronce/ledger"
)

// Codes of https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	readOnlyTransaction  = "25006" // a write on a standby
	featureNotSupported  = "0A000" // BEGIN READ WRITE on a standby; or a table of a prepared statement was changed
	divisionByZero       = "22012"
	uniqueViolation      = "23505"
	noSuchStatement      = "26000" // a session's prepared statements were discarded
)

// unavailable are the codes after which the same call may succeed: the server
// stops, starts, is full, has become a standby, or ended the session.
var unavailable = []string{
	serializationFailure, deadlockDetected,
	readOnlyTransaction, featureNotSupported,
	"25P03",                            // idle_in_transaction_session_timeout
	"25P04",                            // transaction_timeout
	"55P03",                            // lock_not_available
	"57014",                            // query_canceled: statement_timeout, or an administrator
	"57P01", "57P02", "57P03", "57P05", // shutdown, crash, starting, idle timeout
}

// noSchema are the codes of names that are not there.
var noSchema = []string{"3F000", "42P01", "42703", "42883"}

// translate wraps a driver's error with what was being done and, by its code
// and never by its text, the category that it belongs to.
func translate(doing string, err error) error {
	if err == nil {
		return nil
	}
	if category := categoryOf(err); category != nil && !errors.Is(err, category) {
		return fmt.Errorf("%s: %w: %w", doing, category, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// categoryOf returns the error of package ledger that a driver's error belongs to; nil: none.
func categoryOf(err error) error {
	var fromServer *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ledger.ErrNotFound
	case errors.As(err, &fromServer):
		return categoryOfCode(fromServer.Code)
	case isConnectionError(err):
		return ledger.ErrUnavailable
	}
	return nil
}

// categoryOfCode returns the error of package ledger for a code of the server; nil: none.
func categoryOfCode(code string) error {
	switch {
	case slices.Contains(unavailable, code), code[:2] == "08", code[:2] == "53":
		return ledger.ErrUnavailable
	case slices.Contains(noSchema, code):
		return fmt.Errorf("%w: run `cronce migrate up`", ledger.ErrSchema)
	}
	return nil
}

// isConnectionError reports an error of the connection instead of the server. A canceled
// context is one too: whether the statement was applied is not known.
func isConnectionError(err error) bool {
	var dial *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &dial) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, puddle.ErrClosedPool) || errors.Is(err, errPooler) || pgconn.SafeToRetry(err)
}

// hasCode reports whether the server returned one of these codes.
func hasCode(err error, codes ...string) bool {
	var fromServer *pgconn.PgError
	return errors.As(err, &fromServer) && slices.Contains(codes, fromServer.Code)
}

// constraintOf returns the name of the constraint or index that an error is about.
func constraintOf(err error) string {
	var fromServer *pgconn.PgError
	if errors.As(err, &fromServer) {
		return fromServer.ConstraintName
	}
	return ""
}

// retry calls fn again if the database rolled it back in favor of another transaction, or
// because a prepared statement was not valid any more, or if its connection was the
// first to detect a pooler.
func retry(fn func() error) error {
	for range 3 {
		if err := fn(); !hasCode(err, serializationFailure, deadlockDetected, featureNotSupported, noSuchStatement) &&
			!errors.Is(err, errPooler) {
			return err
		}
	}
	return fn()
}
