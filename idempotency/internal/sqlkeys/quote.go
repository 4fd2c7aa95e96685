package sqlkeys

import "strings"

// Quote makes an SQL identifier of a table's name, each part of a qualified one
// between marks, so that any name is a name and nothing else.
func Quote(table, mark string) string {
	parts := strings.Split(table, ".")
	for i, part := range parts {
		parts[i] = mark + strings.ReplaceAll(part, mark, mark+mark) + mark
	}
	return strings.Join(parts, ".")
}
