package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
)

const signedRegistry = `version: 1
name: acme
targets:
  membership: { urlEnv: MEMBERSHIP_URL, auth: { type: jwt, key: { file: CURRENT }, nextKey: { file: NEXT } } }
jobs:
  - { id: release, schedule: "@yearly", target: membership, path: /v1/release }
`

// newKeyDesk has a registry whose keys are in the desk's files current and next.
func newKeyDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, "")
	d.write("cronce.yaml", strings.NewReplacer("CURRENT", d.path("current"), "NEXT", d.path("next")).Replace(signedRegistry))
	return d
}

func (d *desk) ok(args ...string) string {
	d.Helper()
	code, out, errs := d.run(args...)
	if code != 0 {
		d.Fatalf("%q: exit %d: %s", args, code, errs)
	}
	return out
}

// kids are the IDs in a key set.
func kids(t *testing.T, set string) map[string]bool {
	t.Helper()
	var keys struct{ Keys []struct{ Kid string } }
	if err := json.Unmarshal([]byte(set), &keys); err != nil {
		t.Fatalf("%v in %q", err, set)
	}
	ids := map[string]bool{}
	for _, k := range keys.Keys {
		ids[k.Kid] = true
	}
	return ids
}

func TestKeysAreMadePublishedAndRotated(t *testing.T) {
	d := newKeyDesk(t)
	if out := d.ok("keys", "generate", d.path("current")); out != "" {
		t.Errorf("a private key is printed: %q", out)
	}
	d.ok("keys", "generate", "--type", "ES256", d.path("next"))
	if info, err := os.Stat(d.path("current")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	before := kids(t, d.ok("export", "jwks"))
	d.ok("check")
	next, err := os.ReadFile(d.path("next"))
	if err != nil {
		t.Fatal(err)
	}
	d.ok("keys", "rotate", "--key", d.path("current"), "--next-key", d.path("next"))
	if current, err := os.ReadFile(d.path("current")); err != nil || string(current) != string(next) {
		t.Errorf("the next key does not sign: %v", err)
	}
	after := kids(t, d.ok("export", "jwks"))
	kept := 0
	for id := range after {
		if before[id] {
			kept++
		}
	}
	if len(before) != 2 || len(after) != 2 || kept != 1 {
		t.Errorf("published %v, then %v", before, after)
	}
	left, err := os.ReadDir(d.dir)
	if err != nil || len(left) != 3 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
}

// Who rotates is often not the user that serve runs as, which must read the new keys.
func TestRotatedKeysCanBeReadByTheSameUsers(t *testing.T) {
	d := newKeyDesk(t)
	d.ok("keys", "generate", d.path("real"))
	d.ok("keys", "generate", d.path("next"))
	if err := errors.Join(os.Symlink(d.path("real"), d.path("current")), os.Chmod(d.path("real"), 0o640)); err != nil {
		t.Skipf("no links or modes here: %v", err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(d.path("real"), 1234, 2345); err != nil {
			t.Fatal(err)
		}
	}
	former, err := os.Stat(d.path("current"))
	if err != nil {
		t.Fatal(err)
	}
	d.ok("keys", "rotate", "--key", d.path("current"), "--next-key", d.path("next"))
	for _, name := range []string{"real", "current"} {
		info, err := os.Stat(d.path(name))
		if err != nil || info.Mode() != former.Mode() || fmt.Sprint(owner(info)) != fmt.Sprint(owner(former)) || os.SameFile(info, former) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if link, err := os.Lstat(d.path("current")); err != nil || link.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", link, err)
	}
}

// owner are the user and the group, where the system has them.
func owner(info os.FileInfo) (ids []uint64) {
	system := reflect.Indirect(reflect.ValueOf(info.Sys()))
	for _, name := range []string{"Uid", "Gid"} {
		if field := system.FieldByName(name); field.IsValid() {
			ids = append(ids, field.Uint())
		}
	}
	return ids
}

func TestKeysAreNotLost(t *testing.T) {
	d := newKeyDesk(t)
	d.ok("keys", "generate", d.path("current"))
	signs, err := os.ReadFile(d.path("current"))
	if err != nil {
		t.Fatal(err)
	}
	d.write("none", "hush")
	for name, args := range map[string][]string{
		"an existing file":        {"generate", d.path("current")},
		"another type":            {"generate", "--type", "RS256"},
		"no next key":             {"rotate", "--key", d.path("current"), "--next-key", d.path("next")},
		"a next key that is none": {"rotate", "--key", d.path("current"), "--next-key", d.path("none")},
		"one file":                {"rotate", "--key", d.path("current"), "--next-key", d.path("current")},
		"no key to replace":       {"rotate", "--key", d.path("next"), "--next-key", d.path("current")},
		"no names":                {"rotate"},
	} {
		code, out, errs := d.run(append([]string{"keys"}, args...)...)
		if code == 0 || out != "" || errs == "" || strings.Contains(errs, "hush") {
			t.Errorf("%s: exit %d, %q, %q", name, code, out, errs)
		}
	}
	if now, err := os.ReadFile(d.path("current")); err != nil || string(now) != string(signs) {
		t.Errorf("the key has changed: %v", err)
	}
}

// The public keys have an address of their own, at which there is nothing else.
func TestServePublishesItsKeys(t *testing.T) {
	d := newKeyDesk(t)
	d.ok("keys", "generate", d.path("current"))
	d.ok("keys", "generate", d.path("next"))
	want := kids(t, d.ok("export", "jwks"))
	env := []string{"MEMBERSHIP_URL=http://127.0.0.1:1", "CRONCE_CONFIG=" + d.env["CRONCE_CONFIG"], "CRONCE_DATABASE_URL=" + d.env["CRONCE_DATABASE_URL"]}
	p := spawn(t, env, "serve", "--listen", "127.0.0.1:0", "--listen-jwks", "127.0.0.1:0")
	address := func(what string) string {
		var at string
		eventually(t, what, func() bool {
			_, line, found := strings.Cut(p.Log.String(), what)
			_, at, _ = strings.Cut(line, "address")
			at, _, _ = strings.Cut(strings.TrimLeft(at, `=":`), "\n")
			at = strings.Trim(strings.Fields(at + " .")[0], `"}`)
			return found && strings.Contains(at, ":")
		})
		return "http://" + at
	}
	get := func(url string) (int, string) {
		t.Helper()
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	public, own := address("serving public keys"), address("serving health and metrics")
	for _, base := range []string{public, own} {
		if status, set := get(base + "/.well-known/jwks.json"); status != http.StatusOK || len(kids(t, set)) != len(want) {
			t.Errorf("%s: %d, %s", base, status, set)
		}
	}
	for _, path := range []string{"/metrics", "/healthz", "/"} {
		if status, _ := get(public + path); status != http.StatusNotFound {
			t.Errorf("%s is public: %d", path, status)
		}
	}
}
