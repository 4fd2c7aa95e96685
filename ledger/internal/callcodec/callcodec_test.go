package callcodec_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/callcodec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Decode returns an error or a call for any columns. A call that it returns is the same
// after it is encoded and decoded. The body is not parsed.
func FuzzCall(f *testing.F) {
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
		var d callcodec.Decoder
		c, err := d.Decode(call, body)
		if err != nil || c.Method == "" && c.Target == "" {
			return
		}
		if !bytes.Equal(c.Body, body) {
			t.Fatalf("body %q reads as %q", body, c.Body)
		}
		text, err := new(callcodec.Encoder).Encode(&c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := d.Decode([]byte(text), c.Body)
		if err != nil {
			t.Fatal(err)
		}
		withoutEmpty(&c)
		if !reflect.DeepEqual(c, withoutEmpty(&again)) {
			t.Fatalf("%+v reads as %+v", c, again)
		}
	})
}

// Two runs with the same call have bodies of their own.
func TestDecodeKeepsTheBodiesApart(t *testing.T) {
	var d callcodec.Decoder
	for _, body := range []string{`{"n":1}`, `{"n":2}`} {
		c, err := d.Decode([]byte(`{"target":"t","method":"POST"}`), []byte(body))
		if err != nil || string(c.Body) != body || c.Target != "t" {
			t.Errorf("%+v, %v, want the body %s", c, err, body)
		}
	}
	if c, err := d.Decode(nil, nil); err != nil || !reflect.DeepEqual(c, ledger.CallSpec{}) {
		t.Errorf("no columns read as %+v, %v", c, err)
	}
}

// Of two calls in a row, the second is encoded anew if any field is another than in the first.
func TestEncodeTellsCallsApart(t *testing.T) {
	whole := ledger.CallSpec{Target: "t", Method: "POST", Scopes: []string{"a"}, Headers: map[string]string{"A": "1"},
		Backoff: []time.Duration{1}, Each: &ledger.Each{Path: "/a"}}
	for field := range reflect.TypeFor[ledger.CallSpec]().Fields() {
		if field.Name == "Body" {
			continue
		}
		other := whole
		f := reflect.ValueOf(&other).Elem().FieldByIndex(field.Index)
		switch f.Kind() {
		case reflect.String:
			f.SetString("other")
		case reflect.Int, reflect.Int64:
			f.SetInt(7)
		case reflect.Float64:
			f.SetFloat(7)
		case reflect.Bool:
			f.SetBool(true)
		default:
			f.SetZero()
		}
		var e callcodec.Encoder
		before, err := e.Encode(&whole)
		after, again := e.Encode(&other)
		if before == after || err != nil || again != nil {
			t.Errorf("with another %s: %s, after %s, %v, %v", field.Name, after, before, err, again)
		}
	}
	same := whole
	same.Body, same.Each = []byte(`{}`), &ledger.Each{Path: "/a"}
	var e callcodec.Encoder
	before, _ := e.Encode(&whole)
	if n := testing.AllocsPerRun(1, func() { _, _ = e.Encode(&same) }); n > 0 {
		t.Errorf("a call with another body takes %v allocations, and is encoded anew", n)
	}
	if after, _ := e.Encode(&same); after != before {
		t.Errorf("with another body: %s, before %s", after, before)
	}
}

// withoutEmpty makes lists of nothing no lists, which are the same call.
func withoutEmpty(c *ledger.CallSpec) ledger.CallSpec {
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
