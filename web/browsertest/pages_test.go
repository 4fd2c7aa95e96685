package browsertest_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cronce/cronce/internal/testdb"
)

// fast is a registry whose jobs are due all the time: one succeeds, one is
// refused for good, one is to be paused. Two wait for their first time; the target
// takes longer with one of them.
const fast = `version: 1
name: fast
jobs:
  - { id: tick, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /tick, overlap: allow }
  - { id: refused, schedule: "*/2 * * * * *", targetUrlEnv: SVC_URL, path: /refused, overlap: allow }
  - { id: later, schedule: "0 0 1 1 *", targetUrlEnv: SVC_URL, path: /later }
  - { id: nap, schedule: "*/2 * * * * *", targetUrlEnv: SVC_URL, path: /nap, overlap: allow }
  - { id: yearly, schedule: "0 0 1 1 *", timezone: Europe/Berlin, targetUrlEnv: SVC_URL, path: /yearly }
  - { id: report, targetUrlEnv: SVC_URL, path: "/report/{{key}}", keyed: { max: 100 } }
`

const hostileText = `<script>window.hurt=1</script><img src=x onerror="window.hurt=1">"'` + "`" + `{{.}}</pre></td>`

// answer refuses what is asked of /refused, in words that try to be markup.
func answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/refused" {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"code":` + quoted(hostileText) + `,"detail":` + quoted(hostileText) + `}`))
		return
	}
	if r.URL.Path == "/later" {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	fine(w, r)
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cronce.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// busy is a server on each engine, on PostgreSQL one of two replicas, whose
// ledger has runs of every kind.
func busy(t *testing.T, test func(t *testing.T, s *server)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			config, env := writeConfig(t, fast), target(t, answer)
			db := "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
			if engine == "postgres" {
				db = testdb.Postgres(t)
				serve(t, config, db, env)
			}
			s := serve(t, config, db, env)
			eventually(t, "the jobs to be planned", func() bool { return strings.Contains(s.run("jobs", "show", "yearly", "--json"), `"watermark": "2`) })
			s.run("schedules", "put", "report", "acme", "--schedule", "*/2 * * * * *", "--why", hostileText, "--by", "mallory")
			s.run("schedules", "put", "report", "later", "--in", "48h")
			s.run("jobs", "pause", "yearly", "--why", hostileText, "--by", "mallory")
			eventually(t, "a run of each kind", func() bool {
				return strings.Contains(s.run("runs", "list", "--state", "dead"), "refused@") &&
					strings.Contains(s.run("runs", "list", "--state", "succeeded"), "tick@")
			})
			test(t, s)
		})
	}
}

var pagePaths = []string{
	"/", "/?span=30d", "/jobs", "/jobs/tick", "/jobs/refused", "/jobs/yearly", "/jobs/yearly?at=2020-01-01", "/runs", "/runs?state=dead&group=1",
	"/runs?job=nobody", "/find?q=e", "/targets", "/targets/env:SVC_URL", "/jobs?sort=-state&owner=nobody", "/audit?since=1h", "/keys", "/processes", "/audit", "/nowhere",
	"/pauses", "/jobs/report", "/jobs/report?key=zzz", "/jobs/report:acme", "/actions/add-pause?target=env%3ASVC_URL&until=1h", "/actions/add-pause?kind=hold&target=env%3ASVC_URL&until=1h",
	"/actions/pause?job=tick", "/actions/backfill?job=nap&from=2020-01-01", "/actions/redrive?job=refused&state=dead", "/actions/resume?job=tick", "/actions/ack-incident?incident=1",
}

// Each page, wide and narrow, light and dark: nothing that the browser complains
// about, nothing that axe does, and no scrolling aside.
func TestPagesAreSoundInABrowser(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		b := open(t, s)
		b.look(1280, "light")
		b.visit("/runs?state=dead")
		dead := eval[string](b, "document.querySelector('td.lead a').getAttribute('href')")
		s.run("runs", "ack", strings.TrimPrefix(dead, "/runs/"), "--why", "a redrive leaves it out")
		paths := append(pagePaths, dead)
		for _, path := range append(paths, b.previews(paths)...) {
			for _, scheme := range []string{"light", "dark"} {
				b.look(1280, scheme)
				b.visit(path)
				if path == "/nowhere" {
					b.forgive() // the browser reports the 404
				}
				b.accessible(path + " " + scheme)
			}
			b.look(360, "light")
			if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 360 {
				t.Errorf("%s is %d px wide on a screen of 360", path, wide)
			}
			b.accessible(path + " narrow")
			b.calm()
		}
	})
}

// previews are the addresses of the actions that pages offer, one of each action.
func (b *tab) previews(paths []string) (list []string) {
	byAction := map[string]bool{}
	for _, path := range paths {
		byAction[strings.SplitN(path, "?", 2)[0]] = true
	}
	for _, path := range paths {
		b.visit(path)
		if path == "/nowhere" {
			b.forgive()
		}
		for _, link := range eval[[]string](b, `[...document.querySelectorAll("a[href^='/actions/']")].map((a) => a.getAttribute("href"))`) {
			if action := strings.SplitN(link, "?", 2)[0]; !byAction[action] {
				byAction[action] = true
				list = append(list, link)
			}
		}
	}
	return list
}

// The whole menu is in sight on a screen of any width, whatever the registry's name.
func TestTheMenuFitsEveryScreen(t *testing.T) {
	long := strings.Replace(fast, "name: fast", "name: the-scheduled-work-of-a-company-with-a-long-name", 1)
	s := serve(t, writeConfig(t, long), "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), target(t, fine))
	b := open(t, s)
	b.visit("/")
	for width := int64(320); width <= 1400; width += 8 {
		b.look(width, "light")
		hidden := eval[int](b, `(({scrollWidth: all, clientWidth: seen}) => all - seen)(document.querySelector("nav.main"))`)
		wide := eval[int](b, "document.documentElement.scrollWidth")
		if hidden > 0 || int64(wide) > width {
			t.Errorf("on a screen of %d px, %d px of the menu are out of sight, and the page has %d px", width, hidden, wide)
		}
	}
}

// axe is the program of the accessibility checks.
var axe = sync.OnceValues(func() ([]byte, error) {
	const path = "node_modules/axe-core/axe.min.js"
	if _, err := os.Stat(path); err != nil {
		if out, err := exec.Command("npm", "ci", "--silent").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("npm ci: %w: %s; scripts/install-browser installs npm and the checks", err, out)
		}
	}
	return os.ReadFile(path)
})

// accessible fails for what axe finds on the page.
func (b *tab) accessible(page string) {
	b.Helper()
	source, err := axe()
	must(b.T, err)
	b.do(chromedp.Evaluate[chromedp.Void](string(source) + ";undefined"))
	found := eval[[]string](b, `axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then((r) =>
		r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 200) + " " + n.failureSummary)))`)
	for _, violation := range found {
		b.Errorf("%s: axe: %s", page, violation)
	}
}

// What targets and operators say stays text.
func TestHostileTextStaysText(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		b := open(t, s)
		b.visit("/runs?state=dead")
		dead := eval[string](b, "document.querySelector('td.lead a').getAttribute('href')")
		s.run("runs", "ack", strings.TrimPrefix(dead, "/runs/"), "--why", hostileText, "--by", hostileText)
		for path, where := range map[string]string{dead: "window.hurt", "/jobs/yearly": "window.hurt", "/audit": "window.hurt"} {
			b.visit(path)
			if text := b.text("main"); !strings.Contains(text, where) {
				t.Errorf("%s does not show the text: %s", path, text)
			}
			if n := eval[int](b, "document.querySelectorAll('main script, main img, main [onerror]').length + (window.hurt ?? 0)"); n != 0 {
				t.Errorf("%s: the text became markup", path)
			}
		}
	})
}

// Without a script the pages say the same, and the filters work.
func TestWithoutAScript(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		b := open(t, s)
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		for path, want := range map[string]string{
			"/": " attention", "/jobs": "every second", "/jobs/refused": "dead", "/runs": "tick@", "/targets": "env:SVC_URL",
			"/keys": "Retention proof", "/processes": "alive", "/audit": "mallory",
		} {
			b.visit(path)
			text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("main")))
			must(t, err)
			if !strings.Contains(text, want) {
				t.Errorf("%s does not have %q: %s", path, want, text)
			}
		}
		b.visit("/jobs")
		b.do(chromedp.SendKeys(chromedp.CSS("main input[name=q]"), "yearly"+kb.Enter), chromedp.WaitReady(chromedp.CSS(`input[value="yearly"]`)))
		text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("main table")))
		must(t, err)
		if !strings.Contains(text, "yearly") || strings.Contains(text, "refused") {
			t.Errorf("the filter shows %s", text)
		}
	})
}

func TestKeyboardReachesAll(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		b := open(t, s)
		b.visit("/")
		b.do(chromedp.KeyEvent(kb.Tab))
		if got := eval[string](b, "document.activeElement.className"); got != "skip" {
			t.Errorf("the first stop is %q, want the link to the content", got)
		}
		b.do(chromedp.KeyEvent("?"))
		if !eval[bool](b, "document.getElementById('keys').open") {
			t.Error("? does not show the keys")
		}
		b.do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("g"), chromedp.KeyEvent("r"))
		eventually(t, "the page of the runs", func() bool { return eval[string](b, "location.pathname") == "/runs" })
		b.do(chromedp.WaitReady(chromedp.CSS("form.filters")), chromedp.KeyEvent("/"))
		eventually(t, "the search box to have the focus", func() bool {
			if eval[string](b, "document.activeElement.id") == "find" {
				return true
			}
			b.do(chromedp.KeyEvent("/"))
			return false
		})
		// The protocol sends a character apart from its key, so that the key cannot
		// keep it off.
		eval[string](b, "document.activeElement.value = ''")
		b.do(chromedp.KeyEvent("refused" + kb.Enter))
		eventually(t, "the page of the job", func() bool { return eval[string](b, "location.pathname") == "/jobs/refused" })
		eventually(t, "the page of the pauses", func() bool { // once the page of the job takes keys
			b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("u"))
			return eval[string](b, "location.pathname") == "/pauses"
		})
	})
}

// Times are relative, and exact (UTC and local) in the document.
func TestTimesAreExactOnHover(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		b := open(t, s)
		b.visit("/runs")
		title := eval[string](b, "document.querySelector('td time').title")
		if !strings.Contains(title, " UTC\n") || !strings.Contains(title, "CET") && !strings.Contains(title, "CEST") && !strings.Contains(title, "GMT+") {
			t.Errorf("a time's title is %q, want UTC and the local time of Berlin", title)
		}
	})
}
