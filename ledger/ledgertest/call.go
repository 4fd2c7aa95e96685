package ledgertest

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/cronce/cronce/ledger"
)

// FuzzCall fuzzes how a store encodes calls in its columns. decode must return an error
// or a call for any columns. A call that it returns must be the same after encode and
// decode. The body is not parsed.
func FuzzCall(f *testing.F, encode func(ledger.Call) (call, body []byte, err error), decode func(call, body []byte) (ledger.Call, error)) {
	for _, seed := range []string{
		`{"target":"t","method":"POST","path":"/a","timeout":30000000000,"backoff":[500000000],"jitter":0.2,"maxRetryAfter":1,"horizon":1}`,
		`{"target":null,"scopes":[],"body":{"a":1},"headers":{}}`, `{"headers":{"X-Edition":"2"}}`, `{"jitter":1e400}`, `{"timeout":9e99}`, `[]`, `null`, `{"target":"\ud800"}`,
	} {
		f.Add([]byte(seed), []byte(`{"a":1}`))
		f.Add([]byte(seed), []byte(nil))
	}
	f.Fuzz(func(t *testing.T, call, body []byte) {
		if len(call) == 0 {
			return // a run that has none
		}
		c, err := decode(call, body)
		if err != nil {
			return
		}
		if !bytes.Equal(c.Body, body) {
			t.Fatalf("body %q reads as %q", body, c.Body)
		}
		if call, body, err = encode(c); err != nil {
			t.Fatal(err)
		}
		again, err := decode(call, body)
		if err != nil {
			t.Fatal(err)
		}
		if withoutEmpty(&c); !reflect.DeepEqual(c, withoutEmpty(&again)) {
			t.Fatalf("%+v reads as %+v", c, again)
		}
	})
}

// withoutEmpty makes lists of nothing no lists, which are the same call.
func withoutEmpty(c *ledger.Call) ledger.Call {
	if len(c.Scopes) == 0 {
		c.Scopes = nil
	}
	if len(c.Backoff) == 0 {
		c.Backoff = nil
	}
	if len(c.Headers) == 0 {
		c.Headers = nil
	}
	if len(c.Body) == 0 {
		c.Body = nil
	}
	return *c
}
