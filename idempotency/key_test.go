package idempotency_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/ttl"
)

func TestParseKeyAcceptsBareAndQuotedKeys(t *testing.T) {
	long := strings.Repeat("k", 128)
	for _, c := range []struct{ header, want string }{
		{"k", "k"},
		{`"k"`, "k"},
		{" \tk ", "k"},
		{"release-commission-locks@2026-11-21T03:00:00Z", "release-commission-locks@2026-11-21T03:00:00Z"},
		{`"8e03978e-40d5-43dd-bc93-6894a57f9324"`, "8e03978e-40d5-43dd-bc93-6894a57f9324"},
		{`"a \"quoted\" \\ key"`, `a "quoted" \ key`},
		{long, long},
		{`"` + long + `"`, long},
	} {
		if got, err := idempotency.ParseKey(c.header); err != nil || got != c.want {
			t.Errorf("ParseKey(%q) = %q, %v", c.header, got, err)
		}
	}
}

func TestParseKeyRefusesWhatIsNotOneKey(t *testing.T) {
	for _, header := range []string{
		"", "  ", `""`, `"`, `"k`, `k"`, `"k"x`, `"k";a=1`, `"a", "b"`, "a b", `"\n"`, `"\`, "k\x00", "clé", "\"cl\xc3\xa9\"", "\"a\tb\"",
		strings.Repeat("k", 129), `"` + strings.Repeat("k", 129) + `"`,
	} {
		if got, err := idempotency.ParseKey(header); !errors.Is(err, idempotency.ErrInvalidKey) {
			t.Errorf("ParseKey(%q) = %q, %v", header, got, err)
		}
	}
}

// What is parsed can be quoted and parsed again to the same key.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"k", `"k"`, `"a\"b\\c"`, `"`, "a b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		key, err := idempotency.ParseKey(header)
		if err != nil {
			return
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := idempotency.ParseKey(quoted); err != nil || again != key {
			t.Errorf("%q is %q, but %q is %q (%v)", header, key, quoted, again, err)
		}
	})
}

func TestKeyPartsHaveLimits(t *testing.T) {
	long := strings.Repeat("x", 256)
	for _, k := range []idempotency.Key{
		{}, {Scope: "s", Principal: "p"}, {Principal: "p", Value: "k"}, {Scope: "s", Value: "k"},
		{Scope: long, Principal: "p", Value: "k"}, {Scope: "s", Principal: long, Value: "k"}, {Scope: "s", Principal: "a\x00b", Value: "k"},
		{Scope: "route:POST_/\xff", Principal: "p", Value: "k"},
	} {
		if err := k.Validate(); !errors.Is(err, idempotency.ErrInvalidKey) {
			t.Errorf("%+v is valid", k)
		}
	}
}

func TestTwoHandlersOfEventsNeverShareAScope(t *testing.T) {
	seen := map[string][2]string{}
	for _, pair := range [][2]string{{"a", "b"}, {"a", "c"}, {"a/b", "c"}, {"a", "b/c"}, {"a%2Fb", "c"}, {"a%", "2Fb/c"}} {
		scope := idempotency.EventScope(pair[0], pair[1])
		if other, is := seen[scope]; is {
			t.Errorf("%q and %q share the scope %q", pair, other, scope)
		}
		seen[scope] = pair
		if pattern, _ := ttl.Match(scope, slices.Values([]string{"*", idempotency.EventScopes})); pattern != idempotency.EventScopes {
			t.Errorf("%q is not of %s", scope, idempotency.EventScopes)
		}
	}
	if got := idempotency.EventScope("order.placed.v1", "commission"); got != "event:order.placed.v1/commission" {
		t.Error(got)
	}
}
