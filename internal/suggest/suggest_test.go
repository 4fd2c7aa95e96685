package suggest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/suggest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDidYouMean(t *testing.T) {
	words := []string{"planned", "running", "dead"}
	for word, want := range map[string]string{
		"deaad":   `; did you mean "dead"?`,
		"PLANNED": `; did you mean "planned"?`,
		"xyzzy":   "",
		"":        "",
	} {
		if got := suggest.DidYouMean(word, words); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}
