package ledger

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// JSON is the form of the counts; what decodeTally reads by itself is the same.
func TestCountsAreReadAsTheirJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	counts := func() map[State]int {
		if rng.IntN(2) == 0 {
			return nil
		}
		return map[State]int{Succeeded: rng.IntN(1e6), Dead: -rng.IntN(3)}
	}
	histogram := func() (h Histogram) {
		for range rng.IntN(3) {
			h.Count(rng.IntN(400), 1+rng.IntN(1e9))
		}
		return h
	}
	for range 1000 {
		want := Tally{Counts: counts(), Ranges: counts(), AdHoc: counts(), Lateness: histogram(), Durations: histogram(), Took: time.Duration(rng.Int64())}
		text, err := json.Marshal(&want)
		if err != nil {
			t.Fatal(err)
		}
		var got Tally
		if !got.read(string(text)) {
			t.Fatalf("%s is not read", text)
		}
		if again, err := json.Marshal(&got); err != nil || string(again) != string(text) {
			t.Fatalf("%s is read as %s, %v", text, again, err)
		}
	}
}

func FuzzDecodeTally(f *testing.F) {
	for _, text := range []string{
		`{"counts":{"dead":2,"succeeded":206},"lateness":"153:35 154:56","durations":"0:1 98:1","took":173800000000}`,
		`{}`, `{"took":1}`, `{"took":1,"counts":{}}`, `{"counts":{"d\u0065ad":2}}`, `{"counts":{"dead":2}`, `{"lateness":"1:-2"}`, `{"took":1}}`,
		`{ "took": 1 }`, `,"took":1}`, `{"lateness":"600:1"}`, `{"lateness":""}`, `{"other":{}}`, `{"counts":null}`, `[]`, `{"took":`, `{"":"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decodeTally(text)
		var want Tally
		if text != "" && err == nil && json.Unmarshal([]byte(text), &want) == nil {
			a, _ := json.Marshal(&got)
			b, _ := json.Marshal(&want)
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%q is read as %s, not %s", text, a, b)
			}
		}
	})
}
