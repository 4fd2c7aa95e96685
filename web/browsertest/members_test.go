package browsertest_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const fanOut = `version: 1
name: fan
jobs:
  - { id: bill, schedule: "0 0 1 1 *", targetUrlEnv: SVC_URL, path: "/bill/{{key}}", each: { path: /tenants } }
`

// The page of a run with members, and that of a member: sound in every look, and a search
// finds a member.
func TestMembersAreSoundInABrowser(t *testing.T) {
	env := target(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/tenants":
			var keys []string
			for n := range 119 {
				keys = append(keys, quoted(fmt.Sprintf("t%03d", n)))
			}
			fmt.Fprintf(w, "[%s]", strings.Join(append(keys, quoted(hostileText+strings.Repeat("m", 80))), ","))
		case strings.HasSuffix(r.URL.Path, "7"), strings.HasSuffix(r.URL.Path, "m"):
			w.WriteHeader(http.StatusUnprocessableEntity)
		default:
			fine(w, r)
		}
	})
	s := serve(t, writeConfig(t, fanOut), "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), env)
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/jobs/bill/trigger", strings.NewReader(`{"by":"ann","why":"a test"}`))
	must(t, err)
	ask.Header.Set("Content-Type", "application/json")
	ask.Header.Set("Idempotency-Key", "once")
	got, err := http.DefaultClient.Do(ask)
	must(t, err)
	got.Body.Close()
	var parent string
	eventually(t, "the run to end", func() bool {
		parent = strings.TrimSpace(s.run("runs", "list", "--job", "bill", "--state", "dead", "-o", "id"))
		return parent != ""
	})
	b := open(t, s)
	member := strings.Replace(parent, "bill@", "bill::t007@", 1)
	for _, path := range []string{"/runs/" + parent, "/runs/" + parent + "?key=nobody", "/runs/" + member, "/actions/redrive?state=dead&parent=" + parent} {
		for _, scheme := range []string{"light", "dark"} {
			b.look(1280, scheme)
			b.visit(path)
			b.accessible(path + " " + scheme)
		}
		b.look(360, "dark")
		if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 360 {
			t.Errorf("%s is %d px wide on a screen of 360", path, wide)
		}
		b.accessible(path + " narrow")
		b.calm()
	}
	b.look(1280, "light")
	b.visit("/runs/" + parent + "?key=t11*")
	keys := eval[string](b, `[...document.querySelectorAll("section[aria-labelledby=members] td.lead")].map((e) => e.innerText.trim()).join(" ")`)
	if want := "t110 t111 t112 t113 t114 t115 t116 t117 t118"; keys != want {
		t.Errorf("the search finds %q, want %q", keys, want)
	}
	if dir := os.Getenv("PICTURES"); dir != "" {
		b.visit("/runs/" + parent)
		must(t, os.WriteFile(dir+"/wide.png", b.picture(), 0o600))
		b.look(360, "dark")
		must(t, os.WriteFile(dir+"/narrow.png", b.picture(), 0o600))
	}
}
