package postgres

import (
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// prepared are the statements that a session knows by name.
type prepared struct {
	statements map[string]*statement
	unparsed   []string // texts whose name the server may not have
	names      int      // never used again
}

// statement is a text that has a name in its session.
type statement struct {
	name        string
	sent        bool
	varies      bool
	description *pgconn.StatementDescription // nil: the server has not confirmed it
}

// maxPrepared bounds how many statements of a session have a name, and maxVarying how many of
// them are texts that vary with what is asked, such as filters: the first ones. The ledger has
// fewer others.
const (
	maxPrepared = 300
	maxVarying  = 50
)

const preparedStatements = "cronce statements"

// preparedOn returns the statements of a connection, which has them for as long as it lives.
func preparedOn(conn *pgxpool.Conn) *prepared {
	data := conn.Conn().PgConn().CustomData()
	p, ok := data[preparedStatements].(*prepared)
	if !ok {
		p = &prepared{statements: map[string]*statement{}}
		data[preparedStatements] = p
	}
	return p
}

// statement returns the statement of a text; nil if there are too many.
func (p *prepared) statement(sql string, varies bool) *statement {
	s := p.statements[sql]
	if s == nil && len(p.statements) < maxPrepared && !(varies && p.varying() >= maxVarying) {
		p.names++
		s = &statement{name: "cronce_" + strconv.Itoa(p.names), varies: varies}
		p.statements[sql] = s
		p.unparsed = append(p.unparsed, sql)
	}
	return s
}

// varying returns the number of named statements whose texts vary.
func (p *prepared) varying() (n int) {
	for _, s := range p.statements {
		if s.varies {
			n++
		}
	}
	return n
}

// parsed takes the description of the first statement that the server had not confirmed:
// it answers in order.
func (p *prepared) parsed(d *pgconn.StatementDescription) {
	s := p.statements[p.unparsed[0]]
	p.unparsed = p.unparsed[1:]
	d.Name = s.name
	s.description = d
}

// dropUnparsed forgets statements that the server skipped after an error.
func (p *prepared) dropUnparsed() {
	for _, sql := range p.unparsed {
		delete(p.statements, sql)
	}
	p.unparsed = nil
}

// reset forgets all statements. Their names stay used.
func (p *prepared) reset() {
	p.statements, p.unparsed = map[string]*statement{}, nil
}
