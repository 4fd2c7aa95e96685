package targets_test

import (
	"testing"

	"github.com/cronce/cronce/targets"
)

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
