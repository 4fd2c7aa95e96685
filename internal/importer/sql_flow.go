package importer

import "slices"

// sqlFlow follows the tokens of SQL and PL/pgSQL, and tells whether the statement that it has come to runs for
// certain. The body of a function runs if something calls it. A branch, a loop, a handler, and what follows
// a return or psql's \quit run if a condition holds.
type sqlFlow struct {
	uncalled, conditional bool     // of the text as a whole
	blocks                []string // the keyword that opened each block around the token; "exception" within handlers
	function              bool     // the statement creates a function
	outside               int      // the number of blocks around that statement
	first                 bool     // the next token begins a statement
	verb                  string   // with which the statement begins
	ifs                   int      // the number of psql's \if around the token
	last                  string
}

// within returns the flow of code that is quoted at the present token.
func (f *sqlFlow) within() sqlFlow {
	return sqlFlow{uncalled: f.inFunction(), conditional: f.inCondition(), first: true}
}

func (f *sqlFlow) inFunction() bool { return f.uncalled || f.function }

func (f *sqlFlow) inCondition() bool {
	return f.conditional || f.ifs > 0 || slices.ContainsFunc(f.blocks, func(opener string) bool { return opener != "begin" })
}

// runsText reports whether the statement runs its texts as code.
func (f *sqlFlow) runsText() bool { return f.function || f.verb == "do" || f.verb == "execute" }

// psql takes a command of psql.
func (f *sqlFlow) psql(command string) {
	f.first = true
	switch command {
	case `\if`:
		f.ifs++
	case `\endif`:
		f.ifs = max(0, f.ifs-1)
	case `\q`, `\quit`:
		f.conditional = true
	}
}

// next takes the next token.
func (f *sqlFlow) next(t sqlToken) {
	if t.kind == sqlPsql {
		f.psql(t.text)
		return
	}
	first, last := f.first, f.last
	f.first = t.is(";") || t.named("begin") || t.named("then") || t.named("else") || t.named("loop")
	f.last = ""
	if t.kind == sqlName {
		f.last = t.text
	}
	if first {
		f.verb = f.last
	}
	switch depth := len(f.blocks); f.last {
	case "":
		f.function = f.function && !(t.is(";") && depth <= f.outside)
	case "function", "procedure":
		if last == "create" || last == "replace" {
			f.function, f.outside = true, depth
		}
	case "if", "begin", "case", "loop":
		if last != "end" && (first || f.last != "if") { // DROP ... IF EXISTS opens nothing
			f.blocks = append(f.blocks, f.last)
		}
	case "exception":
		if depth > 0 { // after RAISE EXCEPTION, too, the rest of the block may not run
			f.blocks[depth-1] = f.last
		}
	case "return":
		f.conditional = f.conditional || first
	case "end":
		f.blocks = f.blocks[:max(0, depth-1)]
	}
}

// sqlWhere reports whether the rest of a statement restricts it with a condition.
func sqlWhere(rest []sqlToken) bool {
	end := slices.IndexFunc(rest, func(t sqlToken) bool { return t.is(";") || t.kind == sqlPsql || t.named("where") })
	return end >= 0 && rest[end].named("where")
}
