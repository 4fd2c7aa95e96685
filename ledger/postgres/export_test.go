package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/ledger"
)

// beneath are the methods of a Ledger that package ledger has no rules for.
type beneath struct{ *Ledger }

// OverRows is a ledger whose operations are the rules of package ledger over the
// database's rows.
func OverRows(l *Ledger) ledger.Store {
	return struct {
		*ledger.Ledger
		beneath
	}{ledger.New(rows{l.pool}), beneath{l}}
}

// Tune changes the connections' configuration after everything else.
func Tune(f func(*pgxpool.Config)) Option { return func(s *settings) { s.tune = f } }

// Set is a setting of the ledger's statements beside or in place of its own.
func Set(name, value string) Option {
	return func(s *settings) { s.set = map[string]string{name: value} }
}

// What the columns call and body hold; see encodeCall.
var (
	EncodeCall = encodeCall
	DecodeCall = decodeCall
)

// AfterOthers is what an admission sends of its plans, and what it does not.
var AfterOthers = (*Ledger).dropStale

// RowsOf returns the rows of a ledger's database.
func RowsOf(l *Ledger) ledger.Rows { return rows{l.pool} }
