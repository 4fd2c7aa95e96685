package targets_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

// list is the call for a list.
func list(page string) executor.Call {
	c := call()
	c.Work.Call.Each = &ledger.Each{Path: "/v1/tenants", Max: 10}
	c.List, c.Page, c.Work.Call.Method, c.Work.Call.Path, c.Work.Call.Body = true, page, "GET", "/v1/tenants", nil
	return c
}

func TestAListIsFetchedPageByPage(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" || r.Header.Get("Idempotency-Key") != "" || r.Header.Get("Cronce-Run-Id") == "" {
			t.Errorf("%s %v", r.Method, r.Header)
		}
		if r.URL.RawQuery == "" {
			w.Header().Set("Link", `</first>; rel="first", </v1/tenants?page=2>; title="x"; rel="last next"`)
		}
		_, _ = w.Write([]byte(`["` + r.URL.RawQuery + `"]`))
	})
	ts := to(t, s.URL)
	first := attempt(t, ts, list(""), maxWait)
	if first.Kind != ledger.AnswerFresh || !slices.Equal(first.Keys, []string{""}) || first.Next != s.URL+"/v1/tenants?page=2" {
		t.Fatalf("%+v", first)
	}
	if second := attempt(t, ts, list(first.Next), maxWait); !slices.Equal(second.Keys, []string{"page=2"}) || second.Next != "" {
		t.Errorf("%+v", second)
	}
}

// A page of another origin would get the target's credentials.
func TestAListHasNoPageOfAnotherOrigin(t *testing.T) {
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("called") })
	ts := to(t, serve(t, plain(200)).URL)
	for _, page := range []string{other.URL + "/v1/tenants", strings.Replace(other.URL, "http", "https", 1), "//evil.example/x", "/v1/tenants", ":"} {
		a := attempt(t, ts, list(page), maxWait)
		if a.Kind != ledger.AnswerRefused || a.Reason != ledger.ReasonPermanent || !strings.Contains(a.Error, "is not of") ||
			strings.Contains(a.Error, "evil") {
			t.Errorf("%s: %+v", page, a)
		}
	}
}

func TestAListThatFailsIsAnAnswerLikeAnyOther(t *testing.T) {
	if a := attempt(t, to(t, serve(t, plain(503)).URL), list(""), maxWait); a.Kind != ledger.AnswerThrottled || a.Keys != nil {
		t.Errorf("%+v", a)
	}
	if a := attempt(t, to(t, serve(t, plain(202)).URL), list(""), maxWait); a.Kind != ledger.AnswerFresh || a.Keys != nil {
		t.Errorf("no list: %+v", a)
	}
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`["a"`))
	})
	if a := attempt(t, to(t, cut.URL), list(""), maxWait); a.Kind != ledger.AnswerUnknown || a.Keys != nil {
		t.Errorf("%+v", a)
	}
}

func TestAPageOfAListIsAListOfKeys(t *testing.T) {
	for body, want := range map[string]string{
		`["a"] x`: "the list: the answer is more than one JSON value; answer with a single list or object",
		`[null]`:  "the list: each.items leads to null, and a key is a text or a whole number",
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		if a := attempt(t, to(t, s.URL), list(""), maxWait); a.Kind != ledger.AnswerFailed || !strings.HasSuffix(a.Error, want) || a.Keys != nil {
			t.Errorf("%+v", a)
		}
	}
	long := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 33 {
			_, _ = w.Write([]byte(strings.Repeat(" ", 1<<20)))
		}
		_, _ = w.Write([]byte(`["a"]`))
	})
	if a := attempt(t, to(t, long.URL), list(""), maxWait); a.Kind != ledger.AnswerRefused || !strings.Contains(a.Error, "32 MiB") {
		t.Errorf("%+v", a)
	}
}
