package ledger_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cronce/cronce/ledger"
)

func TestAStorableTextIsValidAndWithinItsLimit(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"plain":                       "plain",
		"grün":                        "grün",
		"a\x00b":                      "a\uFFFDb",
		"a\xff\xfeb":                  "a\uFFFDb",
		strings.Repeat("x", 20):       strings.Repeat("x", 16),
		strings.Repeat("\x00", 20):    strings.Repeat("\uFFFD", 5),
		strings.Repeat("y", 15) + "ü": strings.Repeat("y", 15),
	} {
		got := ledger.StorableText(text, 16)
		if got != want || len(got) > 16 || !utf8.ValidString(got) {
			t.Errorf("StorableText(%q, 16) is %q, want %q", text, got, want)
		}
	}
}
