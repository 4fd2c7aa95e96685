package targets_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// What a failing answer says is kept only for a target whose registry asks for it, never
// with a secret that was sent, and as text that a terminal may show.
func TestTheExcerptOfAnAnswer(t *testing.T) {
	const secret = "tok-6f1d2c"
	long := strings.Repeat("ä", ledger.ExcerptLimit)
	for _, c := range []struct {
		rule, media, body, want string
		status                  int
	}{
		{"a problem document", "application/problem+json", `{"title":"No funds","detail":"account 7 has 3.00","code":"no_funds"}`, "No funds: account 7 has 3.00", 422},
		{"a problem document without a detail", "application/json", `{"title":"No funds"}`, "No funds", 500},
		{"a detail that is no text", "application/problem+json", `{"title":"No funds","detail":[1]}`, "No funds", 500},
		{"other JSON", "application/json", `{"error":"No funds"}`, `{"error":"No funds"}`, 500},
		{"text", "text/plain", "two\r\nlines \x1b[2J\n", "two\nlines \ufffd[2J", 503},
		{"bytes that are no text", "", "\xff\xfeno", "\ufffdno", 400},
		{"its first 1 KiB", "text/html", long, long[:ledger.ExcerptLimit], 500},
		{"a secret", "text/plain", "you sent Bearer " + secret, "redacted", 401},
		{"a secret at the cut", "text/plain", strings.Repeat("x", ledger.ExcerptLimit-4) + " " + secret, "redacted", 500},
		{"no body", "text/plain", "", "", 500},
		{"a success", "text/plain", "done", "", 200},
		{"a redirect", "text/plain", "over there", "", 302},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.media)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			})
			for _, keep := range []time.Duration{0, time.Hour} {
				ts := resolve(t, jobs.Target{KeepAnswers: keep, Auth: jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{Env: "TOKEN"}}},
					env{"MEMBERSHIP_URL": s.URL, "TOKEN": secret}, nil)
				want := ""
				if keep > 0 {
					want = c.want
				}
				got := attempt(t, ts, call(), maxWait)
				if got.Excerpt != want || want != "" && got.KeepExcerpt != keep {
					t.Errorf("kept for %s: %q for %s, want %q", keep, got.Excerpt, got.KeepExcerpt, want)
				}
			}
		})
	}
}

// A body that is encoded is not text.
func TestAnEncodedAnswerHasNoExcerpt(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(500)
		_, _ = w.Write([]byte("\x1f\x8b packed"))
	})
	ts := resolve(t, jobs.Target{KeepAnswers: time.Hour}, env{"MEMBERSHIP_URL": s.URL}, nil)
	if got := attempt(t, ts, call(), maxWait); got.Excerpt != "" {
		t.Errorf("it is %q", got.Excerpt)
	}
}
