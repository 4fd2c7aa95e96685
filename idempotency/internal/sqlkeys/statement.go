package sqlkeys

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"

	"github.com/cronce/cronce/idempotency/store"
)

// Terms are a database's words for what the statements say.
type Terms struct {
	Table, Key string // quoted
	Now        string // its clock, in the unit of the table's times
	In         string // the time that is %s milliseconds from now
	At         string // a time from the parameter %s, milliseconds since 1970
	Since1970  string // the milliseconds of a column %s
	ReadText   string // the column %s as text, as it was written
	WriteText  string // the parameter %s as it is written there
	OnDisk     string // ends a statement whose commit a crash must not lose; "": no commit is lost
	Numbered   bool   // parameters are $1, $2; else ? in their order
}

// Statement is SQL with parameters by name, which travel beside it.
type Statement struct {
	text  string
	names []string
}

// Values are a statement's parameters.
type Values map[string]any

var (
	term  = regexp.MustCompile(`\{\{(\w+)(?: ([\w:]+))?\}\}`)
	named = regexp.MustCompile(`([^:]):([a-z]+)\b`)
)

// Statement puts the terms and the parameters in. {{at x}} is the time x, for
// example, and :x a parameter.
func (t Terms) Statement(text string) (s Statement) {
	for term.MatchString(text) {
		text = term.ReplaceAllStringFunc(text, func(found string) string {
			m := term.FindStringSubmatch(found)
			return t.term(m[1], m[2])
		})
	}
	seen := map[string]int{}
	s.text = named.ReplaceAllStringFunc(text, func(found string) string {
		name := found[2:]
		if !t.Numbered {
			s.names = append(s.names, name)
			return found[:1] + "?"
		}
		if seen[name] == 0 {
			s.names = append(s.names, name)
			seen[name] = len(s.names)
		}
		return fmt.Sprintf("%s$%d", found[:1], seen[name])
	})
	// Last, since a name may have any character in it.
	s.text = strings.NewReplacer("\x00table\x00", t.Table, "\x00key\x00", t.Key).Replace(s.text)
	return s
}

func (t Terms) term(name, of string) string {
	switch name {
	case "table":
		return "\x00table\x00"
	case "keycolumn":
		return "\x00key\x00"
	case "key":
		return "scope = :scope AND principal = :principal AND {{keycolumn}} = :key"
	case "expired":
		return "expires_at <= {{now}}"
	case "now":
		return t.Now
	case "ondisk":
		return t.OnDisk
	case "in":
		return fmt.Sprintf(t.In, of)
	case "at":
		return fmt.Sprintf(t.At, of)
	case "ms":
		return fmt.Sprintf(t.Since1970, of)
	case "read":
		return fmt.Sprintf(t.ReadText, of)
	case "write":
		return fmt.Sprintf(t.WriteText, of)
	}
	panic("sqlkeys: unknown term " + name)
}

// Querier is a transaction or a database.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Args are the statement's parameters, in their order.
func (s Statement) Args(v Values) []any {
	args := make([]any, len(s.names))
	for i, name := range s.names {
		args[i] = v[name]
	}
	return args
}

// Text is the statement as the database gets it.
func (s Statement) Text() string { return s.text }

// Exec runs the statement.
func (s Statement) Exec(ctx context.Context, q Querier, v Values) (sql.Result, error) {
	return q.ExecContext(ctx, s.text, s.Args(v)...)
}

// Query runs a statement with rows.
func (s Statement) Query(ctx context.Context, q Querier, v Values) (*sql.Rows, error) {
	return q.QueryContext(ctx, s.text, s.Args(v)...)
}

// Row runs a statement with one row.
func (s Statement) Row(ctx context.Context, q Querier, v Values) *sql.Row {
	return q.QueryRowContext(ctx, s.text, s.Args(v)...)
}

// Changed runs the statement and reports whether it changed a row.
func (s Statement) Changed(ctx context.Context, q Querier, v Values) (bool, error) {
	r, err := s.Exec(ctx, q, v)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// Common makes the statements that are alike in all databases.
func (t Terms) Common() Statements {
	return Statements{
		Checks: t.checks(),
		Lookup: t.LookupFor(""),
		TakeOver: t.Statement(`
UPDATE {{table}} SET state = 'calling', owner = :owner, locked_until = {{in :lease}}
WHERE {{key}} AND request_hash = :hash AND (state = 'unknown' OR (state = 'calling' AND locked_until <= {{now}})) {{ondisk}}`),
		Complete: t.Statement(`
UPDATE {{table}} SET state = :state, response_status = :status, response_headers = {{write :headers}},
       response_body = :body, locked_until = NULL, expires_at = {{in :ttl}}
WHERE {{key}} AND owner = :owner AND state = 'calling'`),
		TakeOverWork: t.Statement(`
UPDATE {{table}} SET owner = :owner, locked_until = {{in :lease}}, created_at = {{now}}, expires_at = {{in :ttl}}
WHERE {{key}} AND request_hash = :hash AND state = 'accepted' AND locked_until <= {{now}}`),
		Renew: t.Statement(`
UPDATE {{table}} SET locked_until = {{in :lease}}, expires_at = {{in :ttl}}, response_body = :body
WHERE {{key}} AND owner = :owner AND state = 'accepted'`),
		Abandon: t.Statement(`
DELETE FROM {{table}} WHERE {{key}} AND owner = :owner AND state = 'accepted'`),
		MarkUnknown: t.Statement(`
UPDATE {{table}} SET state = 'unknown', locked_until = NULL WHERE {{key}} AND owner = :owner AND state = 'calling'`),
		Release: t.Statement(`
DELETE FROM {{table}} WHERE {{key}} AND owner = :owner AND state = 'calling'`),
		Count: t.Statement(`
SELECT scope, COUNT(*) FROM {{table}} WHERE {{expired}} AND (:only = '' OR scope = :only) GROUP BY scope
LIMIT 9223372036854775807`),
	}
}

// StatusColumns are the columns that [ScanStatus] reads.
const StatusColumns = `state, request_hash, owner, response_status, {{read response_headers}}, response_body, {{ms expires_at}},
       COALESCE({{expired}}, FALSE), COALESCE(locked_until <= {{now}}, FALSE), COALESCE({{at :sendbefore}} <= {{now}}, FALSE)`

// LookupFor is a look-up with a lock. It has one row for a key without one too, and
// a limit, since a MySQL session may have another for those that have none.
func (t Terms) LookupFor(lock string) Statement {
	return t.Statement(`
SELECT ` + StatusColumns + `
FROM (SELECT 1 AS one LIMIT 1) asked LEFT JOIN {{table}} ON {{key}} LIMIT 1` + lock)
}

// Of are the values of a claim. now is for databases without a clock.
func Of(c store.Claim) Values {
	v := Values{
		"scope": c.Key.Scope, "principal": c.Key.Principal, "key": c.Key.Value,
		"hash": c.Fingerprint, "owner": c.Owner, "claim": Claimant(c), "ttl": c.TTL.Milliseconds(), "now": Now(), "sendbefore": nil,
	}
	if !c.SendBefore.IsZero() {
		v["sendbefore"] = c.SendBefore.UnixMilli()
	}
	return v
}
