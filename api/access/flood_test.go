package access_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/api/access"
)

// Forged ID tokens cost their network's share of signature checks, and ask the issuer
// for its keys once a second. Tokens that were verified before, hashed tokens and
// other networks are served meanwhile.
func TestForgedIDTokensShutNobodyOut(t *testing.T) {
	i := newIDP(t)
	forged, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	token, hash := access.NewToken()
	control, err := access.Open(file(t, "version: 1\ntokens: [{ name: ci, role: viewer, hash: \""+hash+"\" }]\noidc: { issuer: \""+i.URL+"\", audience: cronce }\ngrants: [{ role: viewer, groups: [staff] }]\n"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		disconnect := http.DefaultTransport.(*http.Transport).CloseIdleConnections
		defer disconnect()
		sleep := func(d time.Duration) {
			disconnect() // the clock of a bubble stands while a connection is read from
			time.Sleep(d)
		}
		status := func(from, token string) int {
			r := httptest.NewRequest("GET", "/v1/status", nil)
			r.RemoteAddr = from
			r.Header.Set("Authorization", "Bearer "+token)
			_, err := control.Identify(r)
			if denied, ok := errors.AsType[*access.DeniedError](err); ok {
				return denied.Status
			}
			return http.StatusOK
		}
		want := func(what, from, token string, want int) {
			t.Helper()
			if got := status(from, token); got != want {
				t.Errorf("%s: %d, want %d", what, got, want)
			}
		}
		flood := func(from string) (checked int) {
			fake := i.token(forged, nil)
			for range 300 {
				if status(from, fake) == http.StatusUnauthorized {
					checked++
				}
			}
			return checked
		}
		const home, same, other = "[2001:db8::1]:1000", "[2001:db8::2]:1000", "[2001:db8:0:1::1]:1000"
		known := i.token(i.key, nil)
		want("a good token", home, known, http.StatusOK)
		if n := flood(home); n != 199 {
			t.Errorf("%d forged tokens of one network were checked at once, want 199 after a good one", n)
		}
		if n := i.asked.Load(); n != 1 {
			t.Errorf("the issuer was asked for its keys %d times in one second", n)
		}
		want("verified before", same, known, http.StatusOK)
		want("a hashed token", home, token, http.StatusOK)
		want("a new token from the same network", same, i.token(i.key, map[string]any{"sub": "2"}), http.StatusTooManyRequests)
		want("a new token from elsewhere", other, i.token(i.key, map[string]any{"sub": "3"}), http.StatusOK)
		sleep(2 * time.Minute)
		if n := flood(home); n != 200 {
			t.Errorf("%d forged tokens were checked at once two minutes later, want 200", n)
		}
		want("verified long before", home, known, http.StatusOK)
		sleep(time.Second)
		want("a new token a second later", same, i.token(i.key, map[string]any{"sub": "4"}), http.StatusOK)
		sleep(time.Hour)
		want("expired", home, known, http.StatusUnauthorized)
	})
}
