package jobs_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

func headed(headers map[string]string) jobs.Job {
	return release(func(j *jobs.Job) { j.Headers = headers })
}

func TestHeadersOfAJobAreBoundedAndHoldNoSecrets(t *testing.T) {
	many := map[string]string{}
	for i := range 21 {
		many[fmt.Sprintf("X-%d", i)] = "v"
	}
	for _, tc := range []struct {
		headers map[string]string
		want    string
	}{
		{map[string]string{"X-Edition": "2; q=0.5 (beta)", "Accept": "application/json", "x_under": "{{runId}}"}, ""},
		{map[string]string{"X-Long": strings.Repeat("v", 1024)}, ""},
		{map[string]string{"X-Long": strings.Repeat("v", 1025)}, "the value of header X-Long can have 1025 bytes, the maximum is 1024"},
		{map[string]string{"X-Long": strings.Repeat("{{runId}}", 9)}, "the value of header X-Long can have 1152 bytes, the maximum is 1024"},
		{many, "headers has 21 fields, the maximum is 20"},
		{map[string]string{"Authorization": "Bearer x"}, "the header Authorization belongs to the target's auth"},
		{map[string]string{"cookie": "a=b"}, "the header cookie belongs to the target's auth"},
		{map[string]string{"X-API-Key": "hush"}, "the header X-API-Key belongs to the target's auth"},
		{map[string]string{"Webhook-Signature": "v1"}, "the header Webhook-Signature belongs to the target's auth"},
		{map[string]string{"Idempotency-Key": "k"}, "the header Idempotency-Key is the call's own and cannot be set"},
		{map[string]string{"host": "h"}, "the header host is the call's own and cannot be set"},
		{map[string]string{"Content-Length": "1"}, "the header Content-Length is the call's own and cannot be set"},
		{map[string]string{"Transfer-Encoding": "chunked"}, "the header Transfer-Encoding is the call's own and cannot be set"},
		{map[string]string{"traceparent": "00"}, "the header traceparent is the call's own and cannot be set"},
		{map[string]string{"Cronce-Run-Id": "x"}, "the header Cronce-Run-Id is the call's own and cannot be set"},
		{map[string]string{"accept-encoding": "gzip"}, "the header accept-encoding is the call's own and cannot be set"}, // answers are read as they are
		{map[string]string{"X-A": "1", "x-a": "2"}, "the headers X-A and x-a are one field; keep one"},
		{map[string]string{"X A": "1"}, `invalid header name "X A"`},
		{map[string]string{"": "1"}, `invalid header name ""`},
		{map[string]string{"X-A": "1\r\nX-B: 2"}, "invalid value of header X-A"},
		{map[string]string{"X-A": "é"}, "invalid value of header X-A"},
		{map[string]string{"X-A": " 1"}, "invalid value of header X-A"},
		{map[string]string{"X-A": ""}, "invalid value of header X-A"},
		{map[string]string{"X-A": "{{runId"}, "{{ must be followed by a name and }}"},
		{map[string]string{"X-A": "{{runid}}"}, `unknown placeholder "runid"; valid names: jobId, runId, scheduledAt, previousAt, nextAt, registry; did you mean "runId"?; write {{{{ for a literal {{`},
	} {
		_, err := jobs.NewRegistry(jobs.Name("acme"), headed(tc.headers))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%.80q: %v, want %s", tc.headers, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("the value is shown: %v", err)
		}
	}
}

// A field that the credentials are sent in is not the job's too.
func TestHeadersOfAJobAreNotThoseOfItsTarget(t *testing.T) {
	_, err := jobs.NewRegistry(jobs.Name("acme"),
		jobs.Target{Name: "billing", URLEnv: "A_URL", Auth: jobs.Auth{Type: jobs.AuthHeaders, Headers: map[string]jobs.Secret{"X-Tenant": {Env: "TENANT"}}}},
		release(func(j *jobs.Job) {
			j.TargetURLEnv, j.Target, j.Headers = "", "billing", map[string]string{"x-tenant": "1"}
		}))
	if err == nil || !strings.Contains(err.Error(), "the header x-tenant is set by the auth of target billing; remove one") {
		t.Error(err)
	}
}

func TestHeadersOfARunAreThoseOfItsTime(t *testing.T) {
	j := one(t, build(t, headed(map[string]string{"X-Fixed": "1", "X-Day": "{{scheduledAt}} after {{previousAt}}"})), "release")
	want := map[string]string{"X-Fixed": "1", "X-Day": "2026-11-21T00:00:00Z after 2026-11-20T00:00:00Z"}
	midnight := three.Truncate(24 * time.Hour)
	if got := j.RequestHeaders(jobs.RunID(j.ID, midnight), midnight); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := j.Headers["X-Day"]; got != "{{scheduledAt}} after {{previousAt}}" {
		t.Error("the job's own headers were changed:", got)
	}
}
