package targets_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

// A text that repeats the token of its own call is not kept; one that shares a few letters with it
// by chance is.
func TestProgressThatRepeatsTheCallsSignatureIsRedacted(t *testing.T) {
	for name, auth := range map[string]jobs.Auth{
		"jwt":  {Type: jobs.AuthJWT, Key: jobs.Secret{Env: "ED"}},
		"hmac": {Type: jobs.AuthHMAC, Secret: jobs.Secret{Env: "WH"}},
	} {
		t.Run(name, func(t *testing.T) {
			say := func(*http.Request) string { return "" }
			svc := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusAccepted)
				_, _ = w.Write([]byte(say(r)))
			})
			ts := resolve(t, jobs.Target{Auth: auth}, env{
				"MEMBERSHIP_URL": svc.URL, "ED": newKey(t, targets.Ed25519), "WH": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			}, nil)
			work := call()
			work.Work.Call.Within = time.Hour
			say = func(r *http.Request) string {
				return "sent " + r.Header.Get("Authorization") + r.Header.Get("Webhook-Signature")
			}
			if a := attempt(t, ts, work, maxWait); a.Progress != "redacted" {
				t.Errorf("kept %q", a.Progress)
			}
			if name == "jwt" {
				return // the key is drawn, and a short text may be in it too
			}
			for n := range 100 {
				text := fmt.Sprintf("%02d/65", n)
				say = func(*http.Request) string { return text }
				if a := attempt(t, ts, work, maxWait); a.Progress != text {
					t.Errorf("%q became %q", text, a.Progress)
				}
			}
		})
	}
}
