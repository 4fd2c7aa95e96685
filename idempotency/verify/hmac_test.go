package verify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/verify"
)

const secret, second = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"

func webhook(t *testing.T, secret, id string, at time.Time, body string) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	must(t, err)
	m := hmac.New(sha256.New, key)
	m.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// signed is a call as cronce makes it; edit changes it.
func signed(t *testing.T, edit func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) {
		now := time.Now()
		r.Header.Set("Webhook-Id", runID)
		r.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
		r.Header.Set("Webhook-Signature", webhook(t, secret, runID, now, body))
		edit(r)
	}
}

// The vector is the specification's own.
func TestTheSpecificationsVector(t *testing.T) {
	const id, at, payload = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, `{"test": 2432232314}`
	v, err := verify.NewHMAC("acme", secret)
	must(t, err)
	v.Now = func() time.Time { return time.Unix(at, 0) }
	status, principal, _ := send(t, v, func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(payload))
		r.Header.Set("Idempotency-Key", id)
		r.Header.Set("Webhook-Id", id)
		r.Header.Set("Webhook-Timestamp", strconv.Itoa(at))
		r.Header.Set("Webhook-Signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	})
	if status != http.StatusOK || principal != "acme" {
		t.Errorf("%d, %q", status, principal)
	}
}

// webhooks are calls that are signed at a time, and what they are answered.
func webhooks(t *testing.T, now time.Time) map[string]webhookCase {
	return map[string]webhookCase{
		"signed": {func(*http.Request) {}, 200},
		"signed with two secrets": {func(r *http.Request) {
			r.Header.Set("Webhook-Signature", webhook(t, second, runID, now, "x")+" "+webhook(t, second, runID, now, body)+" "+r.Header.Get("Webhook-Signature"))
		}, 200},
		"an ID with a full stop": {func(r *http.Request) {
			r.Header.Set("Idempotency-Key", "a.b@2026-11-21T03:00:00Z")
			r.Header.Set("Webhook-Id", "a%2Eb@2026-11-21T03:00:00Z")
			r.Header.Set("Webhook-Signature", webhook(t, secret, "a%2Eb@2026-11-21T03:00:00Z", now, body))
		}, 200},
		"a swapped key, spelled as the ID": {func(r *http.Request) {
			r.Header.Set("Idempotency-Key", "a%2Eb@2026-11-21T03:00:00Z")
			r.Header.Set("Webhook-Id", "a%2Eb@2026-11-21T03:00:00Z")
			r.Header.Set("Webhook-Signature", webhook(t, secret, "a%2Eb@2026-11-21T03:00:00Z", now, body))
		}, 401},
		"two keys": {func(r *http.Request) { r.Header.Add("Idempotency-Key", "other") }, 401},
		// What is signed is ID.TIME.BODY: the same text, cut at another full stop.
		"an ID that has the time": {func(r *http.Request) {
			at := strconv.FormatInt(now.Unix(), 10)
			r.Header.Set("Webhook-Signature", webhook(t, secret, runID, now, at+"."+body))
			r.Header.Set("Webhook-Id", runID+"."+at)
			r.Header.Set("Idempotency-Key", runID+"."+at)
		}, 401},
		"unsigned": {func(r *http.Request) { r.Header.Del("Webhook-Signature") }, 401},
		"forged":   {func(r *http.Request) { r.Header.Set("Webhook-Signature", webhook(t, second, runID, now, body)) }, 401},
		"of another version": {func(r *http.Request) {
			r.Header.Set("Webhook-Signature", strings.Replace(r.Header.Get("Webhook-Signature"), "v1", "v2", 1))
		}, 401},
		"a swapped body":      {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{}")) }, 401},
		"a swapped id":        {func(r *http.Request) { r.Header.Set("Webhook-Id", "other") }, 401},
		"a swapped key":       {func(r *http.Request) { r.Header.Set("Idempotency-Key", "other") }, 401},
		"a swapped timestamp": {func(r *http.Request) { r.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix()+60, 10)) }, 401},
		"no timestamp":        {func(r *http.Request) { r.Header.Set("Webhook-Timestamp", "now") }, 401},
		"a tenth signature": {func(r *http.Request) {
			r.Header.Set("Webhook-Signature", strings.Repeat("v1,AAAA ", 9)+r.Header.Get("Webhook-Signature"))
		}, 401},
		"old": {func(r *http.Request) {
			at := now.Add(-6 * time.Minute)
			r.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
			r.Header.Set("Webhook-Signature", webhook(t, secret, runID, at, body))
		}, 401},
		"of the future": {func(r *http.Request) {
			at := now.Add(6 * time.Minute)
			r.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
			r.Header.Set("Webhook-Signature", webhook(t, secret, runID, at, body))
		}, 401},
	}
}

type webhookCase struct {
	edit func(*http.Request)
	want int
}

func TestWebhooks(t *testing.T) {
	for name, tc := range webhooks(t, time.Now()) {
		t.Run(name, func(t *testing.T) {
			v, err := verify.NewHMAC("acme", secret)
			must(t, err)
			if got, _, _ := send(t, v, signed(t, tc.edit)); got != tc.want {
				t.Errorf("status %d, want %d", got, tc.want)
			}
		})
	}
}

func TestAVerifierTakesTheSecretBeforeAndTheNext(t *testing.T) {
	v, err := verify.NewHMAC("acme", second, secret)
	must(t, err)
	if got, _, _ := send(t, v, signed(t, func(*http.Request) {})); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	for _, bad := range [][]string{nil, {"whsec_short"}, {secret, "whsec_AAAA"}} {
		if _, err := verify.NewHMAC("acme", bad...); err == nil || strings.Contains(err.Error(), "AAAA") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
