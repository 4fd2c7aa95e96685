package targets_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

var oauth2 = jobs.Target{Auth: jobs.Auth{Type: jobs.AuthOAuth2, TokenURLEnv: "TOKEN_URL", ClientID: jobs.Secret{Env: "CLIENT_ID"}, ClientSecret: jobs.Secret{Env: "CLIENT_SECRET"}}}

func oauth2Env(target, token string) env {
	return env{"MEMBERSHIP_URL": target, "TOKEN_URL": token, "CLIENT_ID": "cronce", "CLIENT_SECRET": "hush-hush"}
}

// authority hands out tokens t1, t2, ... and accepts the newest only.
type authority struct {
	requests atomic.Int32
	newest   atomic.Value
	scopes   sync.Map
	expires  string // the expires_in member, with its comma; may be empty
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id != "cronce" || secret != "hush-hush" || r.FormValue("grant_type") != "client_credentials" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	token := fmt.Sprintf("t%d", a.requests.Add(1))
	a.newest.Store(token)
	a.scopes.Store(r.FormValue("scope"), true)
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"access_token":%q,%s"token_type":"Bearer"}`, token, a.expires)
}

func (a *authority) guard(w http.ResponseWriter, r *http.Request) {
	if newest, _ := a.newest.Load().(string); r.Header.Get("Authorization") != "Bearer "+newest {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func scoped(scopes ...string) executor.Call {
	c := call()
	c.Call.Scopes = scopes
	return c
}

func TestATokenIsGotOncePerScopes(t *testing.T) {
	a := &authority{expires: `"expires_in":3600,`}
	ts := resolve(t, oauth2, oauth2Env(serve(t, plain(200)).URL, serve(t, a.ServeHTTP).URL), nil)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			c := scoped("membership:admin", "audit")
			if i%2 == 0 {
				c = scoped("audit", "membership:admin")
			}
			if got := attempt(t, ts, c, maxWait); got.Kind != ledger.AnswerFresh {
				t.Errorf("got %+v", got)
			}
		})
	}
	wg.Wait()
	if n := a.requests.Load(); n != 1 {
		t.Errorf("%d requests for a token for 64 callers of one set of scopes", n)
	}
	attempt(t, ts, scoped("other"), maxWait)
	if _, asked := a.scopes.Load("other"); !asked || a.requests.Load() != 2 {
		t.Errorf("other scopes: asked %v, %d requests", asked, a.requests.Load())
	}
	if _, asked := a.scopes.Load("audit membership:admin"); !asked {
		t.Error("the job's scopes were not asked for")
	}
}

func TestA401GetsOneFreshToken(t *testing.T) {
	a := &authority{expires: `"expires_in":3600,`}
	var calls atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { calls.Add(1); a.guard(w, r) })
	ts := resolve(t, oauth2, oauth2Env(s.URL, serve(t, a.ServeHTTP).URL), nil)
	attempt(t, ts, call(), maxWait)
	a.newest.Store("revoked")
	if got := attempt(t, ts, call(), maxWait); got.Kind != ledger.AnswerFresh || got.Status != 200 {
		t.Errorf("got %+v", got)
	}
	if calls.Load() != 3 || a.requests.Load() != 2 {
		t.Errorf("%d calls with %d tokens, want 3 with 2", calls.Load(), a.requests.Load())
	}
}

func TestASecond401IsFinal(t *testing.T) {
	a := &authority{expires: `"expires_in":3600,`}
	var calls atomic.Int32
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { calls.Add(1); w.WriteHeader(401) })
	ts := resolve(t, oauth2, oauth2Env(s.URL, serve(t, a.ServeHTTP).URL), nil)
	if got := attempt(t, ts, call(), maxWait); got.Kind != ledger.AnswerRefused || got.Reason != ledger.ReasonUnauthorized || got.Status != 401 {
		t.Errorf("got %+v", got)
	}
	if calls.Load() != 2 || a.requests.Load() != 2 {
		t.Errorf("%d calls with %d tokens, want 2 with 2", calls.Load(), a.requests.Load())
	}
}

func TestTokenEndpointsInTrouble(t *testing.T) {
	token := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Location", "http://evil.example/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		rule   string
		answer http.HandlerFunc
		denied bool // dead; otherwise unsent, to be tried again
	}{
		{"400 refuses the client", token(400, `{"error":"invalid_scope","error_description":"hush-hush"}`), true},
		{"401 refuses the client", token(401, `{"error":"invalid_client"}`), true},
		{"403 refuses the client", token(403, ``), true},
		{"500 passes", token(500, `hush-hush`), false},
		{"503 passes", token(503, ``), false},
		{"429 passes", token(429, ``), false},
		{"a redirect is not followed", token(302, ``), false},
		{"no JSON", token(200, `<html>hush-hush`), false},
		{"an empty body", token(200, ``), false},
		{"no token", token(200, `{"token_type":"Bearer"}`), false},
		{"an error under 200", token(200, `{"error":"hush-hush"}`), false},
		{"a token with a line break", token(200, `{"access_token":"a\r\nX-Admin: yes"}`), false},
		{"a token with a space", token(200, `{"access_token":"a b"}`), false},
		{"a token that is too long", token(200, `{"access_token":"`+strings.Repeat("a", 17<<10)+`"}`), false},
		{"a token of another type", token(200, `{"access_token":"a","token_type":"Basic"}`), false},
		{"a token that has expired", token(200, `{"access_token":"a","expires_in":-1}`), false},
		{"a token that is a number", token(200, `{"access_token":7}`), false},
		{"a body beyond a megabyte", token(200, `{"access_token":"a","x":"`+strings.Repeat("a", 2<<20)+`"}`), false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var calls atomic.Int32
			s := serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
			ts := resolve(t, oauth2, oauth2Env(s.URL, serve(t, c.answer).URL),
				func(c *targets.Config) { c.BreakerFailures = 1 })
			got := attempt(t, ts, call(), maxWait)
			if denied := got.Kind == ledger.AnswerRefused && got.Reason == ledger.ReasonUnauthorized; denied != c.denied || got.Unsent == c.denied {
				t.Errorf("got %+v", got)
			}
			if got.Unsent && got.RetryAfter <= 0 {
				t.Error("it does not say when to try again")
			}
			if strings.Contains(got.Error, "hush") || strings.Contains(got.Error, "evil") {
				t.Errorf("it shows what the endpoint answered: %s", got.Error)
			}
			if calls.Load() != 0 {
				t.Error("the target was called")
			}
			if state := ts.Breakers()["membership"]; state != "closed" {
				t.Errorf("the target's breaker is %s", state)
			}
		})
	}
}

// endpoints answers the token endpoint and the target in virtual time; the two
// are told apart by the dialled port.
func endpoints(t *testing.T, token func() string) *targets.Targets {
	return resolve(t, oauth2, oauth2Env(aTarget, "http://127.0.0.1:2/token"), func(c *targets.Config) {
		target, authority := inMemory(func() string { return rawOK }), inMemory(token)
		c.Dial = dialBy(map[string]dialer{"127.0.0.1:1": target, "127.0.0.1:2": authority})
	})
}

func rawToken(expires string) string {
	body := `{"access_token":"a"` + expires + `}`
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func TestATokenIsReplacedBeforeItExpires(t *testing.T) {
	for _, c := range []struct {
		rule, expires string
		kept          time.Duration // how long one token serves
	}{
		{"30 s before its end", `,"expires_in":3600`, 3570 * time.Second},
		{"a tenth before its end when short", `,"expires_in":60`, 54 * time.Second},
		{"text for a number", `,"expires_in":"60"`, 54 * time.Second},
		{"an end that is not said", ``, 270 * time.Second},
		{"null is not said", `,"expires_in":null`, 270 * time.Second},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fetched atomic.Int32
				ts := endpoints(t, func() string { fetched.Add(1); return rawToken(c.expires) })
				at := func(after time.Duration, want int32) {
					t.Helper()
					time.Sleep(after)
					a := attempt(t, ts, call(), time.Second)
					if n := fetched.Load(); n != want || a.Kind != ledger.AnswerFresh {
						t.Errorf("%d tokens, want %d; %+v", n, want, a)
					}
				}
				at(0, 1)
				at(c.kept-time.Millisecond, 1)
				at(time.Millisecond, 2)
			})
		})
	}
}

func TestATokenEndpointThatIsNotThereIsNamedAsTheCause(t *testing.T) {
	ts := resolve(t, oauth2, oauth2Env(aTarget, nobody+"/token"), nil)
	a := attempt(t, ts, call(), maxWait)
	if !a.Unsent || !strings.Contains(a.Error, "token endpoint could not be asked: connection refused") {
		t.Errorf("got %+v", a)
	}
}

func TestAFailingTokenEndpointIsLeftAloneLongerEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := endpoints(t, func() string { return raw503 })
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			want *= time.Second
			if a := attempt(t, ts, call(), time.Second); !a.Unsent || a.RetryAfter != want {
				t.Errorf("got %+v, want it unsent for %v", a, want)
			}
			time.Sleep(want / 2)
			if a := attempt(t, ts, call(), time.Second); !a.Unsent || a.RetryAfter != want/2 {
				t.Errorf("meanwhile: got %+v, want it unsent for %v", a, want/2)
			}
			time.Sleep(want / 2)
		}
	})
}

func TestAnOldTokenServesWhileNoOtherCanBeGot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := rawToken(`,"expires_in":3600`)
		ts := endpoints(t, func() string { return answer })
		attempt(t, ts, call(), time.Second)
		answer = raw503
		for _, step := range []time.Duration{3575 * time.Second, time.Millisecond, 10 * time.Second} {
			time.Sleep(step)
			if a := attempt(t, ts, call(), time.Second); a.Kind != ledger.AnswerFresh {
				t.Errorf("got %+v", a)
			}
		}
		time.Sleep(15 * time.Second)
		if a := attempt(t, ts, call(), time.Second); !a.Unsent {
			t.Errorf("past its end: got %+v", a)
		}
	})
}

func TestACallThatEndsDoesNotTakeTheTokenFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fetched atomic.Int32
		ts := endpoints(t, func() string {
			fetched.Add(1)
			time.Sleep(2 * time.Second)
			return rawToken("")
		})
		first := make(chan executor.Answer, 1)
		go func() { first <- attempt(t, ts, call(), time.Second) }()
		synctest.Wait()
		if a := attempt(t, ts, call(), 5*time.Second); a.Kind != ledger.AnswerFresh {
			t.Errorf("the patient one: %+v", a)
		}
		if a := <-first; !a.Unsent || a.RetryAfter <= 0 {
			t.Errorf("the hasty one: %+v, want it unsent", a)
		}
		if n := fetched.Load(); n != 1 {
			t.Errorf("%d tokens", n)
		}
	})
}

func TestASilentTokenEndpointIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := endpoints(t, func() string { time.Sleep(time.Minute); return "" })
		begun := time.Now()
		a := attempt(t, ts, call(), 30*time.Second)
		if took := time.Since(begun); !a.Unsent || took != 10*time.Second {
			t.Errorf("got %+v after %v", a, took)
		}
		time.Sleep(time.Minute)
	})
}

func TestCloseEndsATokenRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := endpoints(t, func() string { time.Sleep(time.Minute); return "" })
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if a := ts.Call(ctx, call()); !a.Unsent {
			t.Errorf("got %+v", a)
		}
		begun := time.Now()
		ts.Close()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("Close took %v", took)
		}
		time.Sleep(time.Minute)
	})
}
