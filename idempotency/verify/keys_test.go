package verify_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/verify"
)

func TestSetsThatAreNoneAreRefused(t *testing.T) {
	k := newKeys(t)
	twice := strings.Replace(k.jwks(t), `"kid":"ec"`, `"kid":"ed"`, 1)
	for _, set := range []string{"", "{}", "[]", `{"keys":null}`, twice} {
		if _, err := verify.StaticKeys([]byte(set)); err == nil {
			t.Errorf("%q is taken", set)
		}
	}
}

// A registry's keys change, and its address may fail, while calls come.
func TestRemoteKeysAreReadAgain(t *testing.T) {
	old, rotated := newKeys(t), newKeys(t)
	published, status, reads := old.jwks(t), http.StatusOK, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reads++
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.Copy(w, bytes.NewReader([]byte(published)))
	}))
	defer s.Close()
	now := time.Now()
	v := verify.JWT{Issuer: "acme", Audience: "membership", Keys: verify.RemoteKeysAt(s.URL, func() time.Time { return now })}
	expect := func(when string, k keys, kid string, want, wantReads int) {
		t.Helper()
		x := k.token()
		x.header["kid"] = kid
		got, _, _ := send(t, v, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+x.String()) })
		if got != want || reads != wantReads {
			t.Errorf("%s: status %d after %d readings, want %d after %d", when, got, reads, want, wantReads)
		}
	}
	status = http.StatusFound
	expect("a redirect is not followed", old, "ed", 503, 1)
	status = http.StatusOK
	expect("nor is it asked at once again", old, "ed", 503, 1)
	now = now.Add(11 * time.Second)
	expect("the first call", old, "ed", 200, 2)
	expect("the second call", old, "ed", 200, 2)
	published = strings.ReplaceAll(rotated.jwks(t), `"kid":"ed"`, `"kid":"ed2"`)
	expect("a new key a moment later comes again", rotated, "ed2", 503, 2)
	now = now.Add(11 * time.Second)
	expect("a new key", rotated, "ed2", 200, 3)
	now = now.Add(11 * time.Second)
	expect("a key that is gone", old, "ed", 401, 4)
	status = http.StatusInternalServerError
	now = now.Add(6 * time.Minute)
	expect("an old set while the address fails", rotated, "ed2", 200, 5)
}
