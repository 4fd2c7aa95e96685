package mysql

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// statement is SQL with a gap for each value. The driver prepares a statement
// that has parameters, which is a round trip more, unless the pool's owner has
// chosen otherwise; so the store writes its values into the text itself.
type statement []string

// newStatement takes "?" for a gap; put then puts the table in, whose name may
// have that character in it.
func newStatement(text string, put *strings.Replacer) statement {
	s := strings.Split(text, "?")
	for i := range s {
		s[i] = put.Replace(s[i])
	}
	return s
}

// parameter is a value that goes beside the text: the gap stays one.
type parameter struct{}

// with is the statement with a value in each gap. Text and bytes are written
// as hexadecimal digits, which mean the same under any sql_mode and character
// set, and bring neither quotes nor backslashes along.
func (s statement) with(values ...any) string {
	if len(values) != len(s)-1 {
		panic(fmt.Sprintf("mysql: %d values for %d gaps", len(values), len(s)-1))
	}
	text := []byte(s[0])
	for i, v := range values {
		text = appendLiteral(text, v)
		text = append(text, s[i+1]...)
	}
	return string(text)
}

func appendLiteral(text []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(text, "NULL"...)
	case int:
		return strconv.AppendInt(text, int64(v), 10)
	case int64:
		return strconv.AppendInt(text, v, 10)
	case sql.NullInt64:
		if !v.Valid {
			return append(text, "NULL"...)
		}
		return strconv.AppendInt(text, v.Int64, 10)
	case string:
		return appendBytes(text, []byte(v))
	case []byte:
		if v == nil {
			return append(text, "NULL"...)
		}
		return appendBytes(text, v)
	case parameter:
		return append(text, '?')
	}
	panic(fmt.Sprintf("mysql: no literal of a %T", value))
}

func appendBytes(text, b []byte) []byte {
	return append(hex.AppendEncode(append(text, "X'"...), b), '\'')
}
