package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// maxPrepared bounds the statements that a reader keeps: the texts of filters differ.
const maxPrepared = 200

// Read runs f on one state of the file. It never waits for a writer.
func (r rows) Read(ctx context.Context, name string, f func(ledger.Tx) error) error {
	if err := r.read(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", name, translate(err))
	}
	return nil
}

func (l *Ledger) read(ctx context.Context, f func(ledger.Tx) error) error {
	s, err := l.reader(ctx)
	if err != nil {
		return err
	}
	reusable := false
	defer func() {
		if !reusable { // it may be in a transaction
			_ = s.close()
			s = nil
		}
		l.idle <- s
	}()
	t := l.newTx(ctx, s)
	if _, err := t.exec(`BEGIN`); err != nil {
		return err
	}
	err = f(t)
	_, ended := t.exec(`COMMIT`)
	if reusable = ended == nil; reusable && len(s.stmts) > maxPrepared {
		ended = s.closeStmts()
		s.stmts = map[string]*sql.Stmt{}
	}
	return errors.Join(err, ended)
}

// reader takes an idle connection that reads. The caller gives it back to idle; nil for one
// that is closed.
func (l *Ledger) reader(ctx context.Context) (*session, error) {
	if l.isClosed() {
		return nil, errClosed
	}
	if err := errors.Join(ctx.Err(), l.checkFile()); err != nil {
		return nil, err
	}
	select {
	case s := <-l.idle:
		if s != nil {
			return s, nil
		}
	case <-l.closed:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	conn, err := l.readers.Conn(ctx)
	if err != nil {
		l.idle <- nil
		return nil, err
	}
	return newSession(conn), nil
}

// closeReaders waits for the reads in progress and closes their connections.
func (l *Ledger) closeReaders() error {
	var errs []error
	for range cap(l.idle) {
		if s := <-l.idle; s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(append(errs, l.readers.Close())...)
}
