package suggest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/suggest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDidYouMean(t *testing.T) {
	states := []string{"planned", "running", "dead"}
	flags := []string{"config", "dry-run", "force", "from", "include-acknowledged", "job", "json", "limit", "may-double", "new-key", "reason", "since", "until", "why"}
	for _, c := range []struct {
		word  string
		words []string
		want  string
	}{
		{"deaad", states, "dead"},
		{"PLANNED", states, "planned"},
		{"runnnig", states, "running"},
		{"xyzzy", states, ""},
		{"", append(states, "a"), ""},
		{"x", []string{"y"}, ""},

		{"jsn", flags, "json"},
		{"jbo", flags, "job"},
		{"sinc", flags, "since"},
		{"frmo", flags, "from"},
		{"dryrun", flags, "dry-run"},
		{"includeacknowledged", flags, "include-acknowledged"},
		{"include-akcnowledged", flags, "include-acknowledged"},
		{"zz", flags, ""},
		{"public-url", flags, ""},
		{"key-file", flags, ""},
		{"listen-address", flags, ""},
		{"max-in-flight", flags, ""},
		{"include-disabled-jobs", flags, ""},
		{"acknowledged", flags, ""},

		{"close-boks", []string{"open-books", "close-books"}, "close-books"},
		{"release-commissoin-lock", []string{"release-commission-locks"}, "release-commission-locks"},
		{"close-month", []string{"close-books"}, ""},
		{"aa", []string{"ab", "ac"}, "ab"},
	} {
		want := ""
		if c.want != "" {
			want = `; did you mean "` + c.want + `"?`
		}
		if got := suggest.DidYouMean(c.word, c.words); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", c.word, got, want)
		}
	}
}
