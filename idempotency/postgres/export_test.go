package postgres

// Split returns the statements of SQL as they are told apart before the work's SQL is sent.
func Split(sql string, escapes bool) (statements []string) {
	l := lexer{sql, escapes}
	for more := true; more; {
		var statement string
		statement, more = l.next()
		statements = append(statements, statement)
	}
	return statements
}

// IsBlank reports whether a statement is empty.
func IsBlank(statement string) bool {
	word, rest := firstWord(statement)
	return word+rest == ""
}
