package access_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/access"
)

func open(t *testing.T, text string) *access.File {
	t.Helper()
	f, err := access.Open(file(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Networks of which strangers' addresses are a part are refused, however they are
// written.
func TestAProxyIsNotEverywhere(t *testing.T) {
	for from, ok := range map[string]bool{
		"0.0.0.0/0":                          false,
		"::/0":                               false,
		"0.0.0.0/1, 128.0.0.0/1":             false,
		"::/1, \"8000::/1\"":                 false,
		"::ffff:0.0.0.0/96":                  false,
		"::ffff:0.0.0.0/97":                  false,
		"::ffff:0.0.0.0/90":                  false,
		"::/64":                              false,
		"2000::/3":                           false,
		"0.0.0.0/5":                          false,
		"64.0.0.0/7, 80.0.0.0/7, 96.0.0.0/7": false,
		"10.0.0.0/8, 127.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7": true,
		"10.0.0.0/8, 10.0.0.0/8, 10.0.0.0/8, 10.0.0.0/8, 10.0.0.0/8, 10.1.0.0/16":         true,
		"10.1.0.0/16, 10.0.0.0/8, 11.0.0.0/8, 12.0.0.0/8, 13.0.0.0/8":                     true,
		"::ffff:10.0.0.0/104": true,
		"2001:db8::/32":       true,
	} {
		quoted := `"` + strings.ReplaceAll(strings.ReplaceAll(from, `"`, ""), ", ", `", "`) + `"`
		_, err := access.Open(file(t, "version: 1\nproxy: { from: ["+quoted+"], userHeader: X-User }\ngrants: [{ role: viewer, users: [ann] }]\n"))
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "give only the addresses of the proxy") {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// IPv4-mapped addresses are the IPv4 addresses, in the file and of a caller.
func TestAMappedAddressIsTheIPv4Address(t *testing.T) {
	for _, from := range []string{"10.0.0.0/8", "::ffff:10.0.0.0/104"} {
		f := open(t, "version: 1\nproxy: { from: [\""+from+"\"], userHeader: X-User }\ngrants: [{ role: viewer, users: [ann] }]\n")
		for remote, want := range map[string]int{"10.1.2.3:1": 0, "[::ffff:10.1.2.3]:1": 0, "11.1.2.3:1": 401, "[::ffff:11.1.2.3]:1": 401} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = remote
			r.Header.Set("X-User", "ann")
			if _, err := f.Identify(r); statusOf(err) != want {
				t.Errorf("%s from %s: %v, want %d", from, remote, err, want)
			}
		}
	}
}

// A proxy that has tokens proves itself by one of them, and by its address.
func TestAProxyProvesItself(t *testing.T) {
	token, hash := access.NewToken()
	next, nextHash := access.NewToken()
	other, _ := access.NewToken()
	f := open(t, "version: 1\nproxy: { from: [127.0.0.1/32], userHeader: X-User, groupsHeader: X-Groups, hashes: [\""+hash+"\", \""+nextHash+"\"] }\ngrants: [{ role: viewer, users: [ann], groups: [staff] }]\n")
	for name, c := range map[string]struct {
		remote string
		tokens []string
		want   int
	}{
		"its token":            {"127.0.0.1:1", []string{token}, 0},
		"its next token":       {"127.0.0.1:1", []string{next}, 0},
		"none":                 {"127.0.0.1:1", nil, 401},
		"an empty one":         {"127.0.0.1:1", []string{""}, 401},
		"another":              {"127.0.0.1:1", []string{other}, 401},
		"the hash":             {"127.0.0.1:1", []string{hash}, 401},
		"two":                  {"127.0.0.1:1", []string{token, token}, 401},
		"a forged one first":   {"127.0.0.1:1", []string{other, token}, 401},
		"from another machine": {"10.0.0.1:1", []string{token}, 401},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		r.Header.Set("X-User", "ann")
		r.Header[access.ProxyTokenHeader] = c.tokens
		if _, err := f.Identify(r); statusOf(err) != c.want {
			t.Errorf("%s: %v, want %d", name, err, c.want)
		}
	}
	if text := f.Warning(); text != "" {
		t.Errorf("warning: %s", text)
	}
	for _, hashes := range []string{"[" + token + "]", "[\"sha256:00\"]"} {
		_, err := access.Open(file(t, "version: 1\nproxy: { from: [127.0.0.1/32], userHeader: X-User, hashes: "+hashes+" }\ngrants: [{ role: viewer, users: [ann] }]\n"))
		if err == nil || !strings.Contains(err.Error(), "proxy.hashes[0]") || strings.Contains(err.Error(), token) {
			t.Errorf("hashes: %v", err)
		}
	}
}

// Whatever runs on the machine has the address of a proxy on it.
func TestAProxyOnThisMachineNeedsAToken(t *testing.T) {
	for from, warns := range map[string]bool{"127.0.0.1/32": true, "127.0.0.0/8": true, "::1/128": true, "::ffff:127.0.0.1/128": true, "10.0.0.1/32\", \"127.0.0.3/32": true, "10.0.0.0/8": false} {
		f := open(t, "version: 1\nproxy: { from: [\""+from+"\"], userHeader: X-User }\ngrants: [{ role: viewer, users: [ann] }]\n")
		if text := f.Warning(); (text != "") != warns || warns && !strings.Contains(text, access.ProxyTokenHeader) {
			t.Errorf("%s: %q", from, text)
		}
	}
}

// Two proxies in a row, or a client of a careless one, may send a field twice.
func TestAProxyNamesGroupsOnce(t *testing.T) {
	f := open(t, "version: 1\nproxy: { from: [127.0.0.1/32], userHeader: X-User, groupsHeader: X-Groups }\ngrants: [{ role: viewer, users: [ann] }, { role: admin, groups: [admins] }]\n")
	for _, c := range []struct {
		groups []string
		role   access.Role
		want   int
	}{
		{nil, access.Viewer, 0}, {[]string{"staff"}, access.Viewer, 0}, {[]string{"staff, admins"}, access.Admin, 0},
		{[]string{"staff", "admins"}, access.None, 401}, {[]string{"", "admins"}, access.None, 401},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header["X-User"], r.Header["X-Groups"] = []string{"ann"}, c.groups
		if who, err := f.Identify(r); statusOf(err) != c.want || who.Role != c.role {
			t.Errorf("%q: %+v, %v", c.groups, who, err)
		}
	}
}

// Names that are shown like another are refused at every door: of a token, of a grant, of
// a proxy's user.
func TestNamesThatAreShownLikeOthersAreRefused(t *testing.T) {
	_, hash := access.NewToken()
	for _, name := range []string{"", "ann\u200b", "token\u200b:ci", "\u202eann", "a\u2066nn", "ann\u00ad", "\ufeffann", "ann\u2028", "ann\u0085", "ann\u009b", "an\x1bn", "ann\x7f", "ann\u00a0", "ann\u2003lee", " ann", "ann ", "ann\u3164", "ann\u115f", "ann\u034f", "ann\ufe0f", "ann\U000e0041", "ann\ue000", strings.Repeat("x", 201)} {
		if access.ValidName(name) {
			t.Errorf("%+q is valid", name)
		}
		escaped := `"` + escape(name) + `"`
		for door, text := range map[string]string{
			"token": "tokens: [{ name: " + escaped + ", role: viewer, hash: \"" + hash + "\" }]\n",
			"user":  "proxy: { from: [10.0.0.1/32], userHeader: X-User }\ngrants: [{ role: viewer, users: [" + escaped + "] }]\n",
			"group": "proxy: { from: [10.0.0.1/32], userHeader: X-User }\ngrants: [{ role: viewer, groups: [" + escaped + "] }]\n",
		} {
			if _, err := access.Open(file(t, "version: 1\n"+text)); err == nil || !strings.Contains(err.Error(), "1 to 200 bytes") {
				t.Errorf("%s %+q: %v", door, name, err)
			}
		}
		f := open(t, "version: 1\nproxy: { from: [127.0.0.1/32], userHeader: X-User, groupsHeader: X-Groups }\ngrants: [{ role: viewer, groups: [staff] }]\n")
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header["X-User"], r.Header["X-Groups"] = []string{name}, []string{"staff"}
		if _, err := f.Identify(r); statusOf(err) != http.StatusUnauthorized {
			t.Errorf("the proxy's user %+q: %v", name, err)
		}
	}
	for _, name := range []string{"ann@example.com", "Ann Lee", "Jürgen", "安", "o'neil", "ci/deploy:main"} {
		if !access.ValidName(name) {
			t.Errorf("%q is refused", name)
		}
	}
}

// escape writes a name in the escapes of a YAML text in quotation marks.
func escape(name string) string {
	var b strings.Builder
	for _, c := range name {
		fmt.Fprintf(&b, `\U%08X`, c)
	}
	return b.String()
}
