package conform_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/targets/conform"
)

// serve starts instances of one service and runs the suite against them.
func serve(t *testing.T, service http.Handler, instances int, maxWait time.Duration, only ...string) conform.Report {
	t.Helper()
	c := conform.Config{MaxWait: maxWait, Hold: 400 * time.Millisecond, Only: only}
	for range instances {
		s := httptest.NewServer(service)
		t.Cleanup(s.Close)
		c.URLs = append(c.URLs, s.URL)
	}
	report, err := conform.Run(t.Context(), c)
	if err != nil {
		t.Error(err)
	}
	return report
}

func results(r conform.Report) map[string]conform.Result {
	by := map[string]conform.Result{}
	for _, result := range r.Results {
		by[result.Case] = result
	}
	return by
}

func TestAServiceThatKeepsTheRulesPassesEveryCase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		way       string
		instances int
	}{{"", 1}, {"", 3}, {"is busy in flight", 1}} {
		t.Run(fmt.Sprintf("%s %d", c.way, c.instances), func(t *testing.T) {
			t.Parallel()
			for _, r := range serve(t, newFake(c.way), c.instances, 30*time.Second).Results {
				if r.Outcome != conform.Passed {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// mutants are services with one defect each, and the case that finds it.
var mutants = []struct {
	defect, finds string
	outcome       conform.Outcome
}{
	{"has no keys", "one-effect", conform.Failed},
	{"answers repetitions with 409 for good", "one-effect", conform.Failed},
	{"marks every answer", "one-effect", conform.Failed},
	{"renders replays anew", "replay-bytes", conform.Failed},
	{"does not mark replays", "replay-marked", conform.Failed},
	{"replays cookies", "replay-headers", conform.Failed},
	{"forgets the Location", "replay-headers", conform.Failed},
	{"checks, then acts", "storm", conform.Failed},
	{"breaks in flight", "in-flight", conform.Failed},
	{"is in conflict in flight", "in-flight", conform.Failed},
	{"makes duplicates wait for ever", "in-flight", conform.Failed},
	{"says not when to come back", "in-flight", conform.Failed},
	{"stops with its caller", "lost-answer", conform.Failed},
	{"takes half a body", "cut-request", conform.Failed},
	{"commits the effect before the key", "crash", conform.Failed},
	{"keeps the key of the dead", "crash", conform.Failed},
	{"says that it cannot crash", "crash", conform.Skipped},
	{"takes another payload", "mismatch", conform.Failed},
	{"works for a mismatch", "mismatch", conform.Failed},
	{"gives a mismatch no code", "mismatch", conform.Failed},
	{"fingerprints the body alone", "mismatch-method", conform.Failed},
	{"fingerprints the body alone", "mismatch-query", conform.Failed},
	{"fingerprints without the method", "mismatch-method", conform.Failed},
	{"has no PUT", "mismatch-method", conform.Skipped},
	{"fingerprints without the query", "mismatch-query", conform.Failed},
	{"fingerprints without the media type", "mismatch-media-type", conform.Failed},
	{"has one media type", "mismatch-media-type", conform.Skipped},
	{"compares bytes", "json-meaning", conform.Advised},
	{"compares media types as text", "json-meaning", conform.Advised},
	{"ignores the send-before time", "late-call", conform.Failed},
	{"refuses late callers of done work", "late-replay", conform.Failed},
	{"takes any time", "send-before-syntax", conform.Failed},
	{"knows one caller", "principals", conform.Failed},
	{"takes anybody", "unidentified", conform.Failed},
	{"knows one operation", "scopes", conform.Failed},
	{"folds the case of keys", "key-case", conform.Failed},
	{"cuts keys to 64 characters", "key-length", conform.Failed},
	{"takes calls without a key", "missing-key", conform.Failed},
	{"takes any key", "invalid-key", conform.Failed},
	{"keeps the quotes", "quoted-key", conform.Failed},
	{"stores failures", "temporary-failure", conform.Failed},
	{"keeps the effect of a failure", "temporary-failure", conform.Failed},
	{"stores a 409 of its own", "own-conflict", conform.Failed},
	{"forgets refusals", "final-refusal", conform.Failed},
	{"keeps the effect of a refusal", "final-refusal", conform.Failed},
	{"tells no expiry", "expiry-told", conform.Advised},
	{"tells a new expiry each time", "expiry-told", conform.Advised},
	{"says that it has no long work", "long-work", conform.Skipped},
	{"says not when to poll", "long-work", conform.Failed},
	{"takes another payload for long work", "long-work", conform.Failed},
	{"starts long work again and again", "long-storm", conform.Failed},
	{"leaves long work to the dead", "long-crash", conform.Failed},
	{"commits long work at its start", "long-crash", conform.Failed},
	{"never forgets", "expiry", conform.Failed},
	{"forgets at once", "expiry", conform.Failed},
	{"forgets after two seconds", "expiry-kept", conform.Failed},
	{"forgets after two seconds without a word", "expiry-kept", conform.Failed},
	{"tells that keys live two seconds", "expiry-kept", conform.Skipped},
}

// They run at once, since each of them mostly waits.
func TestEveryMutantIsFound(t *testing.T) {
	t.Parallel()
	var running sync.WaitGroup
	for _, m := range mutants {
		running.Go(func() {
			report := serve(t, newFake(m.defect), 1, 3*time.Second, m.finds)
			got := results(report)[m.finds]
			if got.Outcome != m.outcome || got.Detail == "" || report.Conforms != (m.outcome != conform.Failed) {
				t.Errorf("%s: %+v, conforms %t", m.defect, got, report.Conforms)
			}
		})
	}
	running.Wait()
}

func TestEveryCaseFindsAMutant(t *testing.T) {
	t.Parallel()
	finds := map[string]bool{}
	for _, m := range mutants {
		finds[m.finds] = true
	}
	for _, name := range conform.Cases() {
		if !finds[name] {
			t.Errorf("no mutant shows that the case %s can fail", name)
		}
	}
}

func TestWhatIsNoServiceOfTheProtocolIsToldSo(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	for _, url := range []string{s.URL, "http://127.0.0.1:1"} {
		_, err := conform.Run(t.Context(), conform.Config{URLs: []string{url}, MaxWait: time.Millisecond})
		if !errors.Is(err, conform.ErrNotReady) || !strings.Contains(err.Error(), url) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := conform.Run(t.Context(), conform.Config{URLs: []string{s.URL}, Only: []string{"strom"}}); err == nil || !strings.Contains(err.Error(), "storm") {
		t.Errorf("an unknown case: %v", err)
	}
	for _, url := range []string{"", "127.0.0.1:80", "ftp://a.test", "http://u:p@a.test", "http://a.test?x=1"} {
		if _, err := conform.Run(t.Context(), conform.Config{URLs: []string{url}}); err == nil {
			t.Errorf("%q is taken for a URL", url)
		}
	}
}

// A wait for what cannot change would be as long as the maxWait: an hour.
func TestWhatCannotChangeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer s.Close()
	never := func(context.Context, string, string) (net.Conn, error) { return nil, notAllowed{} }
	for name, c := range map[string]conform.Config{
		"a certificate that is not trusted": {URLs: []string{s.URL}},
		"a connection that is not allowed":  {URLs: []string{s.URL}, Dial: never},
	} {
		c.MaxWait = time.Hour
		if _, err := conform.Run(t.Context(), c); !errors.Is(err, conform.ErrNotReady) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type notAllowed struct{}

func (notAllowed) Error() string   { return "not allowed" }
func (notAllowed) Permanent() bool { return true }
