package keytable_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency/keytable"
)

func TestCreatePutsTheNamesIn(t *testing.T) {
	for _, engine := range []string{"postgres", "mysql", "sqlite"} {
		statements, err := keytable.Create(engine, "billing", "payment_keys")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(statements, "\n")
		if !strings.Contains(text, "payment_keys_expires_at") || strings.ContainsAny(text, "{}") || strings.Contains(text, "DROP") {
			t.Errorf("%s: %s", engine, text)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	for _, names := range [][3]string{
		{"oracle", "cronce", "keys"},
		{"postgres", "Cronce", "keys"},
		{"postgres", "cronce", `keys"; DROP TABLE x`},
		{"mysql", "cronce", "other.keys"},
		{"sqlite", "cronce", ""},
		{"sqlite", "cronce", strings.Repeat("k", 41)},
	} {
		if statements, err := keytable.Create(names[0], names[1], names[2]); err == nil {
			t.Errorf("%q: %q", names, statements)
		}
	}
}
