package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/ledger"
)

// Tune changes the connections' configuration after everything else.
func Tune(f func(*pgxpool.Config)) Option { return func(s *settings) { s.tune = f } }

// Set is a setting of the ledger's statements beside or in place of its own.
func Set(name, value string) Option {
	return func(s *settings) { s.set = map[string]string{name: value} }
}

// RowsOf returns the rows of a ledger's database.
func RowsOf(l *Ledger) ledger.Rows { return rows{l.pool} }

// Anew returns a ledger with the connections of another one, and nothing else of it.
func Anew(l *Ledger) *Ledger { return &Ledger{Ledger: ledger.New(rows{l.pool}), pool: l.pool} }
