package targets_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

func TestBasicSendsNameAndPassword(t *testing.T) {
	var name, password string
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { name, password, _ = r.BasicAuth() })
	ts := resolve(t, jobs.Target{Auth: jobs.Auth{Type: jobs.AuthBasic, Username: jobs.Secret{Env: "NAME"}, Password: jobs.Secret{Env: "PASSWORD"}}},
		env{"MEMBERSHIP_URL": s.URL, "NAME": "cronce", "PASSWORD": "hush: hush"}, nil)
	if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerFresh || name != "cronce" || password != "hush: hush" {
		t.Errorf("%+v; the target was sent %q, %q", a, name, password)
	}
}

func TestHeadersAreSentBesideTheCallsOwn(t *testing.T) {
	var got http.Header
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	ts := resolve(t, jobs.Target{Auth: jobs.Auth{Type: jobs.AuthHeaders, Headers: map[string]jobs.Secret{
		"X-Api-Key": {Env: "KEY"}, "Authorization": {Env: "SCHEME"},
	}}}, env{"MEMBERSHIP_URL": s.URL, "KEY": "hush-key", "SCHEME": "ApiKey hush"}, nil)
	if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerFresh ||
		got.Get("X-Api-Key") != "hush-key" || got.Get("Authorization") != "ApiKey hush" || got.Get("Idempotency-Key") != runID {
		t.Errorf("%+v; the target was sent %v", a, got)
	}
}

// A basic user name with a colon would be another name at the target.
func TestABasicNameWithAColonIsRefused(t *testing.T) {
	target := jobs.Target{Auth: jobs.Auth{Type: jobs.AuthBasic, Username: jobs.Secret{Env: "NAME"}, Password: jobs.Secret{Env: "PASSWORD"}}}
	e := env{"MEMBERSHIP_URL": nobody, "NAME": "a:b", "PASSWORD": "hush"}
	_, err := targets.New(targets.Config{Registry: registry(t, target), Lookup: e.lookup, Version: "1.2.3"})
	if err == nil || !strings.Contains(err.Error(), "has a colon") || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "a:b") {
		t.Errorf("%v", err)
	}
}

// rotating is a target that takes one token, and a secret's file, in a bubble
// whose time is the process's.
type rotating struct {
	t     *testing.T
	file  string
	ts    *targets.Targets
	log   bytes.Buffer
	takes string // the token

	mu   sync.Mutex
	seen []string
}

func newRotating(t *testing.T, token string) *rotating {
	t.Helper()
	r := &rotating{t: t, file: filepath.Join(t.TempDir(), "token"), takes: token}
	r.write(token + "\n")
	r.ts = resolve(t, jobs.Target{Auth: jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{File: r.file}}}, env{"MEMBERSHIP_URL": aTarget},
		func(c *targets.Config) {
			c.Dial = piped(r.serve)
			c.Logger = slog.New(slog.NewTextHandler(&r.log, nil))
		})
	return r
}

func (r *rotating) serve(c net.Conn) {
	for req := readRequest(c); req != nil; req = readRequest(c) {
		token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
		r.mu.Lock()
		r.seen = append(r.seen, token)
		answer := rawOK
		if token != r.takes {
			answer = strings.Replace(rawOK, "200 OK", "401 No", 1)
		}
		r.mu.Unlock()
		_, _ = io.WriteString(c, answer)
	}
}

func (r *rotating) write(content string) {
	r.t.Helper()
	if err := os.WriteFile(r.file, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rotating) call() executor.Answer {
	c := call()
	c.SendBefore = time.Now().Add(time.Hour)
	return attempt(r.t, r.ts, c, maxWait)
}

func TestAFilesSecretIsReadAgainWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRotating(t, "one")
		r.call()
		r.write("two\r\n")
		r.takes = "two"
		time.Sleep(time.Second)
		if a := r.call(); a.Kind != ledger.AnswerFresh || strings.Join(r.seen, " ") != "one two" {
			t.Errorf("%+v; the target saw %q", a, r.seen)
		}
	})
}

// A target that rotated a moment ago answers 401: the file is read at once.
func TestAFilesSecretIsReadAgainAfterA401(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRotating(t, "one")
		r.write("two")
		r.takes = "two"
		if a := r.call(); a.Kind != ledger.AnswerFresh || strings.Join(r.seen, " ") != "one two" {
			t.Errorf("%+v; the target saw %q", a, r.seen)
		}
	})
}

// While a file cannot be read, its last value is used; once the target refuses
// that, runs wait and say why, and go on when the file is back.
func TestAFileThatCannotBeReadLeavesTheLastValue(t *testing.T) {
	for name, ruin := range map[string]func(r *rotating){
		"gone":         func(r *rotating) { _ = os.Remove(r.file) },
		"empty":        func(r *rotating) { r.write("\n") },
		"no token":     func(r *rotating) { r.write("hush hush") },
		"much too big": func(r *rotating) { r.write(strings.Repeat("h", 1<<20)) },
		"a directory":  func(r *rotating) { _ = os.Remove(r.file); _ = os.Mkdir(r.file, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRotating(t, "one")
				ruin(r)
				for range 3 {
					time.Sleep(time.Second)
					if a := r.call(); a.Kind != ledger.AnswerFresh {
						t.Fatalf("%+v, want the last value to be used", a)
					}
				}
				r.takes = "two"
				a := r.call()
				if !a.Unsent || a.WaitReason.Code != ledger.WaitNoToken || !strings.Contains(a.WaitReason.Text, r.file) {
					t.Errorf("%+v, want the run to wait for the file", a)
				}
				sent := len(r.seen)
				if a := r.call(); !a.Unsent || len(r.seen) != sent {
					t.Errorf("%+v, %d more requests, want none with a value that was refused", a, len(r.seen)-sent)
				}
				_ = os.Remove(r.file)
				r.write("two")
				time.Sleep(time.Second)
				if a := r.call(); a.Kind != ledger.AnswerFresh {
					t.Errorf("%+v after the file is back", a)
				}
				if warned := strings.Count(r.log.String(), "secret not read again; last value used"); warned != 1 || strings.Contains(r.log.String(), "hush") {
					t.Errorf("%d warnings: %s", warned, r.log.String())
				}
			})
		})
	}
}

// A value that stays as it is while the target refuses it is an answer: the run is
// dead, as with a token from the environment.
func TestA401ToAnUnchangedFileIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRotating(t, "one")
		r.takes = "two"
		if a := r.call(); a.Kind != ledger.AnswerRefused || a.Reason != ledger.ReasonUnauthorized || len(r.seen) != 1 {
			t.Errorf("%+v after %d requests", a, len(r.seen))
		}
	})
}

func TestAMissingSecretEndsTheStart(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	_, err := targets.New(targets.Config{
		Registry: registry(t, jobs.Target{Auth: jobs.Auth{Type: jobs.AuthHeaders, Headers: map[string]jobs.Secret{"X-Api-Key": {File: missing}, "X-Other": {Env: "OTHER"}}}}),
		Lookup:   env{"MEMBERSHIP_URL": nobody, "OTHER": "hush\n"}.lookup,
	})
	for _, want := range []string{missing, "OTHER"} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v, want it to name %s", err, want)
		}
	}
}
