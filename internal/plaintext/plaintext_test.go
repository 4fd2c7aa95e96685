package plaintext_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/plaintext"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// odd are texts that Is refuses, with what Check finds and what Line makes of them.
var odd = map[string][2]string{
	"\x1b[2J":           {"the character U+001B", "\ufffd[2J"},
	"a\x00b":            {"the character U+0000", "a\ufffdb"},
	"a\bb":              {"the character U+0008", "a\ufffdb"},
	"a\x7fb":            {"the character U+007F", "a\ufffdb"},
	"a\u009b31m":        {"the character U+009B", "a\ufffd31m"},
	"a\nb":              {"the character U+000A", "a b"},
	"a\r\tb":            {"the character U+000D", "a  b"},
	"a\u0085b":          {"the character U+0085", "a b"},
	"a\u2028b":          {"the character U+2028", "a b"},
	"ann\u202e":         {"the character U+202E", "ann\ufffd"},
	"\u2066ann\u2069":   {"the character U+2066", "\ufffdann\ufffd"},
	"ann\u2800":         {"the character U+2800", "ann\ufffd"},
	"ann\u200b":         {"the character U+200B", "ann\ufffd"},
	"a\u200db":          {"the character U+200D", "a\ufffdb"},
	"\ufeffann":         {"the character U+FEFF", "\ufffdann"},
	"ann\u3164":         {"the character U+3164", "ann\ufffd"},
	"ann\u034f":         {"the character U+034F", "ann\ufffd"},
	"ann\U000e0041":     {"the character U+E0041", "ann\ufffd"},
	"ann\U000e0fff":     {"the character U+E0FFF", "ann\ufffd"},
	"ann\U000f0000":     {"the character U+F0000", "ann\ufffd"},
	"a\xffb":            {"bytes that are not UTF-8", "a\ufffdb"},
	"a\xed\xa0\x80b":    {"bytes that are not UTF-8", "a\ufffd\ufffd\ufffdb"},
	"ok \x1b]0;title\a": {"the character U+001B", "ok \ufffd]0;title\ufffd"},
}

func TestTextsThatAreNotShownAsTheyAre(t *testing.T) {
	for text, want := range odd {
		if found, line := plaintext.Check(text), plaintext.Line(text); found != want[0] || line != want[1] || plaintext.Is(text) {
			t.Errorf("%+q: %q, %+q, want %q, %+q", text, found, line, want[0], want[1])
		}
	}
}

func TestTextsInAnyLanguageAreShown(t *testing.T) {
	for _, text := range []string{
		"", " ", "a b", "~", "é", "e\u0301", "Łódź", "данные поздно", "データの再送　お願い", "متأخر", "मूल्य", "l'été\u00a0!", "⚠️", "🎉", "👍🏽", "1 € – “quoted”", "\ufffd",
	} {
		if found := plaintext.Check(text); found != "" || plaintext.Line(text) != text {
			t.Errorf("%+q has %s", text, found)
		}
	}
}

func TestLinesKeepLineFeeds(t *testing.T) {
	if got := plaintext.Lines("a\r\nb\x1b\n"); got != "a \nb\ufffd\n" {
		t.Errorf("%q", got)
	}
}

func FuzzNothingIsLeftThatIsNotShown(f *testing.F) {
	for text := range odd {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := plaintext.Line(text)
		if !plaintext.Is(line) || plaintext.Is(text) && line != text {
			t.Errorf("%+q: the line %+q", text, line)
		}
		if utf8.RuneCountInString(line) != utf8.RuneCountInString(text) {
			t.Errorf("%+q: the line %+q has another length", text, line)
		}
		if lines := plaintext.Lines(text); !plaintext.Is(strings.ReplaceAll(lines, "\n", "")) {
			t.Errorf("%+q: the lines %+q", text, lines)
		}
		checkJSON(t, text)
	})
}

// checkJSON checks that JSON keeps values, and leaves nothing that is not shown.
func checkJSON(t *testing.T, text string) {
	t.Helper()
	value := map[string]any{"why": text, text: []any{text, 1.5, nil}}
	for _, indent := range []string{"", "  "} {
		plain, err := json.MarshalIndent(value, "", indent)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		escaped := plaintext.JSON(plain)
		if json.Unmarshal(plain, &want) != nil || json.Unmarshal(escaped, &got) != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+q: %s has another value than %s", text, escaped, plain)
		}
		if !plaintext.Is(strings.ReplaceAll(string(escaped), "\n", "")) {
			t.Errorf("%+q: %+q", text, escaped)
		}
	}
}
