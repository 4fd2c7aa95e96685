package idempotency_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
)

// The examples of RFC 8785, sections 3.2.2 to 3.2.4 and appendix B.
func TestCanonicalJSONIsThatOfRFC8785(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],\n" +
			`"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`},
		{`[-0, 5e-324, -5e-324, 1.7976931348623157e308, 9007199254740992, -9007199254740992, 295147905179352830000]`,
			`[0,5e-324,-5e-324,1.7976931348623157e+308,9007199254740992,-9007199254740992,295147905179352830000]`},
		{`[9.999999999999997e22, 1e23, 1.0000000000000001e23, 999999999999999700000, 999999999999999900000, 1e21]`,
			`[9.999999999999997e+22,1e+23,1.0000000000000001e+23,999999999999999700000,999999999999999900000,1e+21]`},
		{`[9.999999999999997e-7, 0.000001, 333333333.3333332, 333333333.33333325, -0.0000033333333333333333]`,
			`[9.999999999999997e-7,0.000001,333333333.3333332,333333333.33333325,-0.0000033333333333333333]`},
		{"[\"\\b\\t\\n\\f\\r\\u0001\u007f<>&\u2028\"]", "[\"\\b\\t\\n\\f\\r\\u0001\u007f<>&\u2028\"]"},
		{" [ ] ", "[]"}, {"{}", "{}"}, {`""`, `""`},
	} {
		if got, _, err := idempotency.Canonicalize([]byte(c.text)); err != nil || string(got) != c.want {
			t.Errorf("%s\n  is %s (%v)\nwant %s", c.text, got, err, c.want)
		}
	}
}

func TestCanonicalJSONLeavesAloneWhatItWouldConfuse(t *testing.T) {
	for _, text := range []string{
		`{"a":1,"a":2}`, `{"a":1,"\u0061":1}`, // names that are not unique
		`9007199254740993`, `0.1000000000000000055`, `1e400`, `1e-400`, `[1e999999999999999999999]`, // not as float64
		`"\ud800"`, `"\udc00\ud800"`, `"\ud800A"`, "\"\xff\"", // not Unicode
		``, `{`, `{"a"}`, `[1,]`, `01`, `nul`, `{} {}`, `"a" x`, // not JSON
		strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
	} {
		if got, ok := idempotency.CanonicalJSON([]byte(text)); ok {
			t.Errorf("%.60s became %.60s", text, got)
		}
	}
}

func TestCanonicalJSONKnowsEqualNumbers(t *testing.T) {
	for _, text := range []string{`100`, `100.0`, `1e2`, `1.00E+2`, `0.1e3`, `1000e-1`} {
		if got, ok := idempotency.CanonicalJSON([]byte(text)); !ok || string(got) != "100" {
			t.Errorf("%s became %s, %t", text, got, ok)
		}
	}
}

// A canonical text is its own canonical form, and means what the text means.
func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{`{"b":[1.0,2e3],"a":"\u00e9\ud83d\ude00"}`, `"\ud800"`, `-0.0`, `{"a":1,"a":1}`, `1e-7`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, ok := idempotency.CanonicalJSON(text)
		if !ok {
			return
		}
		twice, ok := idempotency.CanonicalJSON(once)
		if !ok || !bytes.Equal(once, twice) {
			t.Fatalf("%q became %q and then %q, %t", text, once, twice, ok)
		}
		var a, b any
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatalf("%q is not JSON: %v", text, err)
		}
		if err := json.Unmarshal(once, &b); err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%q and %q differ (%v)", text, once, err)
		}
	})
}
