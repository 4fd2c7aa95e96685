package targets_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/targets"
)

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "5", "-1", "1.5", "99999999999999999999", "Sat, 21 Nov 2026 03:01:30 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, field string) {
		if d := targets.RetryAfter(field, now); d < 0 || d > 24*time.Hour {
			t.Fatalf("%q gives %v", field, d)
		}
	})
}

func FuzzProblemCode(f *testing.F) {
	f.Add("application/problem+json", []byte(`{"code":"a","type":"b"}`))
	f.Add("application/json; charset=utf-8", []byte(`{"type":"https://x/y#z"}`))
	f.Add("application/json", []byte(`[[[[[[`))
	f.Fuzz(func(t *testing.T, media string, body []byte) {
		code := targets.ProblemCode(media, body)
		if len(code) > 64 {
			t.Fatalf("%d bytes of code", len(code))
		}
		for _, c := range code {
			if c <= ' ' || c > '~' {
				t.Fatalf("code %q", code)
			}
		}
	})
}
