package main

import (
	"encoding/json"
	"io"
	"time"

	"github.com/cronce/cronce/internal/terminal"
)

// printJSON prints one JSON value, indented, with a final newline.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// table returns a table for standard output, as wide as the terminal.
func (a *app) table(columns ...string) *terminal.Table {
	width := 0
	if !a.wide {
		width = terminal.Width(a.out)
	}
	return terminal.NewTable(a.out, width, columns...)
}

// rfc3339 prints a time as the ledger means it: UTC, RFC 3339; "" for none.
func rfc3339(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
