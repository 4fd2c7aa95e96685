package backend

import (
	"strings"
	"testing"
)

// FuzzLedgerURL: a ledger's URL is told apart by its scheme, and no message
// shows it, which holds a password.
func FuzzLedgerURL(f *testing.F) {
	for _, seed := range []string{"sqlite:a.db", "sqlite:///a", "sqlite:", "postgres://u:s3cret@h/d", "postgresql://h", "postgres://%zz", "mysql://h", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind, rest, err := Engine(text)
		switch {
		case err != nil:
			if len(text) > 12 && strings.Contains(err.Error(), text) {
				t.Fatalf("%q is in the message %v", text, err)
			}
		case kind == "sqlite" && (rest == "" || !strings.HasSuffix(text, rest)), kind == "postgres" && rest != text, kind != "sqlite" && kind != "postgres":
			t.Fatalf("%q gives %q, %q", text, kind, rest)
		}
	})
}
