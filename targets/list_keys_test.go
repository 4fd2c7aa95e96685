package targets_test

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

func TestReadKeys(t *testing.T) {
	for _, c := range []struct{ page, items, keys, err string }{
		{`["a",2,"c"]`, "", "a 2 c", ""},
		{`{"x":{"items":[1]},"tenants":[{"name":{"id":0},"id":"a"},{"id":"b","more":[[],{}]}],"y":[]}`, "tenants.id", "a b", ""},
		{`[{"ids":["a"]},{"ids":[]},{"ids":["b","c"]}]`, "ids", "a b c", ""},
		{`[]`, "", "", ""},
		{`["a","b","c","d","e","f"]`, "", "a b c d e f", ""},
		{`["a","b","c","d","e","f","g", and what is never read`, "", "a b c d e f", ""},
		{`["a"`, "", "", "the answer is not JSON: unexpected EOF"},
		{``, "", "", "the answer is not JSON: unexpected EOF"},
		{`["a",]`, "", "", "the answer is not JSON"},
		{`<html>`, "", "", "the answer is not JSON"},
		{`["a"] ["b"]`, "", "", "more than one JSON value"},
		{"[\"a\xff\"]", "", "", "invalid Unicode"},
		{`[true]`, "", "", "leads to true or false"},
		{`{"id":"a"}`, "id", "", "leads to no list"},
		{`"a"`, "", "", "leads to no list"},
		{`[{"id":"a"}]`, "key", "", `no field "key"`},
		{`[{"id":"a"}]`, "", "", "leads to an object"},
		{`[null]`, "", "", "leads to null"},
		{`[1.5]`, "", "", "and a key is a text or a whole number"},
		{strings.Repeat("[", 1_000_000), "", "", "more than 1000 lists in each other"},
		{`[{"skipped":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `,"id":"a"}]`, "id", "a", ""},
		{`[{"skipped":` + strings.Repeat("[", 100_000), "id", "", "more than 10000 values in each other"},
		{`[{"id":"a","id":"b"}]`, "id", "", `the field "id" twice`},
	} {
		keys, err := targets.ReadKeys(strings.NewReader(c.page), ledger.Each{Items: c.items, Max: 5})
		if c.err == "" && (err != nil || !slices.Equal(keys, strings.Fields(c.keys))) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%.80s by %q: %q %v; want %q %s", c.page, c.items, keys, err, c.keys, c.err)
		}
	}
}

// items is the text of a list, made as it is read.
func items(n int) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, `{"tenants":[`)
		for i := range n {
			_, _ = fmt.Fprintf(w, `{"id":"t%d","name":"%s","tags":["a","b"]},`, i, strings.Repeat("x", 200))
		}
		_, _ = io.WriteString(w, `{"id":"last"}]}`)
		_ = w.Close()
	}()
	return r
}

// Of a list of 100,000 members with 25 MB, only the keys are kept.
func BenchmarkReadKeys(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		keys, err := targets.ReadKeys(items(100_000), ledger.Each{Items: "tenants.id", Max: 200_000})
		if err != nil || len(keys) != 100_001 {
			b.Fatal(len(keys), err)
		}
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		b.ReportMetric(float64(now.HeapAlloc)/1e6, "MB-kept")
		runtime.KeepAlive(keys)
	}
}
