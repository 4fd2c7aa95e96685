package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const reason = `because "of" <b>the test</b>`

// shown is the text of an element, without a script on the page.
func (b *tab) shown(selector string) string {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS(selector)))
	must(b.T, err)
	return text
}

// focus moves the focus to an element. A page that is still loading may replace the
// element after it was found; it is then found again.
func (b *tab) focus(selector string) {
	b.Helper()
	eventually(b.T, "the focus on "+selector, func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, maxWait)
		defer cancel()
		err := chromedp.Do(ctx, chromedp.Focus(chromedp.CSS(selector)))
		if err != nil && !strings.Contains(err.Error(), "No node with given id") {
			b.Fatal(err)
		}
		return err == nil
	})
}

// sendForm fills in the form of an action's page by the keyboard.
func (b *tab) sendForm(who string) string {
	b.Helper()
	b.focus("form.sheet input[name=why]")
	b.do(chromedp.KeyEvent(reason), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(who), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady(chromedp.CSS(".notice, [role=alert]")))
	return b.shown(".notice, [role=alert]")
}

// link follows the link to an action on a page. A live update may take the focus
// between two keys; the link is then followed again.
func (b *tab) link(page, action string) {
	b.Helper()
	eventually(b.T, "the form to "+action, func() bool {
		b.visit(page)
		b.focus(`main .actions a[href^="/actions/` + action + `"]`)
		ctx, cancel := context.WithTimeout(b.ctx, maxWait/4)
		defer cancel()
		return chromedp.Do(ctx, chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS("form.sheet input[name=why]"))) == nil
	})
}

func (s *server) json(v any, args ...string) {
	s.t.Helper()
	must(s.t, json.Unmarshal([]byte(s.run(append(args, "--json")...)), v))
}

func (s *server) paused(job string) bool {
	s.t.Helper()
	var shown struct {
		State string `json:"state"`
	}
	s.json(&shown, "jobs", "show", job)
	return shown.State == "paused"
}

type jsonRun struct {
	RunID string `json:"runId"`
	State string `json:"state"`
	By    string `json:"by"`
	Why   string `json:"why"`
}

func (s *server) runsOf(job, state string) []jsonRun {
	s.t.Helper()
	var list []jsonRun
	args := []string{"runs", "list", "--job", job}
	if state != "" {
		args = append(args, "--state", state)
	}
	s.json(&list, args...)
	return list
}

// Every action, by its form, with the keyboard and without a script.
func TestActions(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		s.run("jobs", "pause", "nap", "--why", "a test", "--by", "test")
		b := open(t, s)
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		says := func(got, want string) {
			t.Helper()
			if !strings.Contains(got, want) {
				t.Fatalf("the page says %q, want %q", got, want)
			}
		}
		shows := func(want string, args ...string) {
			t.Helper()
			if out := s.run(args...); !strings.Contains(out, want) {
				t.Fatalf("cronce %q does not show %q: %s", args, want, out)
			}
		}

		b.link("/jobs/yearly", "resume")
		says(b.shown("main"), "It was paused on ")
		says(b.sendForm("maria"), "Resumed.")
		b.link("/jobs/yearly", "pause")
		says(b.shown(".cli"), "cronce jobs pause yearly --why")
		says(b.sendForm("maria"), "Paused.")
		shows(reason, "jobs", "show", "yearly")
		b.do(chromedp.Click(chromedp.CSS(".notice a")), chromedp.WaitReady(chromedp.CSS("form.sheet")))
		says(b.sendForm("maria"), "Resumed.")

		b.link("/jobs/later", "trigger")
		says(b.shown("main"), "It calls POST /later")
		says(b.sendForm("maria"), "Triggered")
		eventually(t, "the triggered run to be retried", func() bool { return len(s.runsOf("later", "retrying")) == 1 })
		held := s.runsOf("later", "retrying")[0].RunID
		b.link(runPage(held), "cancel")
		says(b.sendForm("maria"), "Canceled 1 run.")
		if got := s.runsOf("later", "canceled"); len(got) != 1 || got[0].By != "maria" || got[0].Why != reason {
			t.Fatalf("after the cancel: %+v", got)
		}

		dead := s.runsOf("refused", "dead")[0].RunID
		b.link(runPage(dead), "redrive")
		says(b.sendForm("maria"), "Redrove 1 run.")
		shows("redrive", "runs", "show", dead)
		eventually(t, "the redriven run to be dead again", func() bool {
			var shown jsonRun
			s.json(&shown, "runs", "show", dead)
			return shown.State == "dead"
		})
		b.link(runPage(dead), "rerun")
		says(b.sendForm("maria"), "Rerun: this is the new run.")
		b.link(runPage(dead), "ack")
		says(b.sendForm("maria"), "Acknowledged 1 run.")
		shows("ack", "runs", "show", dead)

		eventually(t, "skipped times", func() bool { return len(s.runsOf("nap", "skipped")) > 1 })
		b.visit("/jobs/nap")
		b.do(chromedp.Click(chromedp.CSS(`main .actions a[href^="/actions/backfill"]`)), chromedp.WaitReady(chromedp.CSS("input[name=from]")),
			chromedp.KeyEvent(time.Now().UTC().Add(-time.Hour).Format("2006-01-02 15:04")), chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS("form.sheet")))
		says(b.shown("main"), "will run")
		says(b.sendForm("maria"), "Backfill: ")
		eventually(t, "the backfill", func() bool { return len(s.runsOf("nap", "succeeded")) > 1 })

		b.link("/runs?job=refused&state=dead", "ack")
		says(b.shown("main"), "will change")
		says(b.shown(".cli"), "cronce runs ack --job refused --why")
		says(b.sendForm("maria"), "Acknowledged ")
		b.visit("/actions/redrive?job=refused&state=dead")
		says(b.shown("main"), "acknowledged by an operator")
		b.link("/jobs/refused", "ack-incident")
		says(b.shown("main"), "refused: dead runs (permanent)")
		says(b.sendForm("maria"), "Acknowledged. The incident asks for no attention")
		shows("acknowledged", "incidents", "list", "--job", "refused")
		shows(`"via": "dashboard"`, "runs", "show", dead, "--json")
	})
}

// An action's page has the focus on its first field only where the preview above stays in
// sight.
func TestAPreviewIsSeenBeforeTheForm(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		b := open(t, s)
		const place = `[scrollY, document.activeElement.name ?? ""].join(" ")`
		b.look(1280, "light")
		b.visit("/actions/pause?job=tick")
		if got := eval[string](b, place); got != "0 why" {
			t.Errorf("wide: scroll and focus are %q, want the focus on the reason", got)
		}
		b.look(360, "light")
		eventually(t, "a preview that is longer than the screen", func() bool {
			b.visit("/actions/ack?job=refused&state=dead")
			return eval[bool](b, `document.querySelector("form.sheet").getBoundingClientRect().top > innerHeight`)
		})
		if got := eval[string](b, place); got != "0 " {
			t.Errorf("narrow: scroll and focus are %q, want the top of the page", got)
		}
	})
}

func runPage(id string) string { return "/runs/" + url.PathEscape(id) }

// A form that is sent twice, at once and later, is one action.
func TestAFormSentTwiceIsOneAction(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		b := open(t, s)
		b.visit("/actions/trigger?job=yearly")
		statuses := eval[string](b, `(async () => {
			const form = document.querySelector("form.sheet");
			form.why.value = "a double click"; form.by.value = "maria";
			const send = () => fetch(form.action, {method: "POST", body: new URLSearchParams(new FormData(form))}).then((r) => r.status + " " + new URL(r.url).pathname);
			const twice = await Promise.all([send(), send()]);
			return [...twice, await send()].join("\n");
		})()`)
		if got := s.runsOf("yearly", ""); len(got) != 1 {
			t.Errorf("the form made %d runs: %+v\n%s", len(got), got, statuses)
		}
		changed := eval[string](b, `(async () => {
			const form = document.querySelector("form.sheet");
			form.why.value = "another reason";
			const answer = await fetch(form.action, {method: "POST", body: new URLSearchParams(new FormData(form))});
			return answer.status + await answer.text();
		})()`)
		if !strings.HasPrefix(changed, "409") || !strings.Contains(changed, "sent before, with other values") || len(s.runsOf("yearly", "")) != 1 {
			t.Errorf("the same form with another reason: %s", changed)
		}
		b.forgiveEach(1, "status of 409")
	})
}

// A form of another site does nothing, in a real browser.
func TestAFormOfAnotherSiteIsRefused(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<!doctype html><main><form id="f" method="post" action="%s/actions/pause"><input name="job" value="tick"><input name="why" value="x"><input name="by" value="x"><input name="key" value="0123456789abcdef0123"></form>
				<script>document.getElementById("f").submit()</script></main>`, s.url)
		}))
		defer evil.Close()
		for name, address := range map[string]string{"another port": evil.URL, "another name": strings.Replace(evil.URL, "127.0.0.1", "localhost", 1)} {
			b := open(t, s)
			b.do(chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS("section.card")))
			if text := b.text("main"); !strings.Contains(text, "another site") {
				t.Errorf("%s: the page says %q", name, text)
			}
			b.forgiveEach(1, "status of 403") // and it asked another site
		}
		if s.paused("tick") {
			t.Error("the job was paused")
		}
	})
}

// Roles hide what is not allowed, and the server refuses it.
func TestRolesHideActions(t *testing.T) {
	access := filepath.Join(t.TempDir(), "access.yaml")
	must(t, os.WriteFile(access, []byte(`version: 1
proxy: { from: [127.0.0.1/32], userHeader: X-User }
grants: [{ role: viewer, users: [vera] }, { role: operator, users: [oscar] }, { role: admin, users: [ada] }]
`), 0o600))
	config, env := writeConfig(t, fast), target(t, answer)
	s := serve(t, config, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), env, "CRONCE_ACCESS="+access)
	eventually(t, "a dead run", func() bool { return len(s.runsOf("refused", "dead")) > 0 })
	dead := s.runsOf("refused", "dead")[0].RunID
	for user, want := range map[string]struct{ job, run string }{
		"vera": {"", ""}, "oscar": {"Pause Trigger Backfill", "Redrive Acknowledge"}, "ada": {"Pause Trigger Backfill", "Redrive Acknowledge Rerun"},
	} {
		b := open(t, s)
		call(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"X-User": user}})
		const links = `[...document.querySelectorAll(".side .actions a")].map((a) => a.textContent).join(" ")`
		b.visit("/jobs/refused")
		if got := eval[string](b, links); got != want.job {
			t.Errorf("%s may do %q to a job, want %q", user, got, want.job)
		}
		b.visit(runPage(dead))
		if got := eval[string](b, links); got != want.run {
			t.Errorf("%s may do %q to a run, want %q", user, got, want.run)
		}
		if user == "vera" {
			b.visit("/actions/pause?job=tick")
			if text := b.text("main"); !strings.Contains(text, "needs the role operator") {
				t.Errorf("a viewer sees %q", text)
			}
			status := eval[int](b, `fetch("/actions/pause", {method: "POST", body: new URLSearchParams({job: "tick", why: "x", key: "0123456789abcdef"})}).then((r) => r.status)`)
			if status != http.StatusForbidden || s.paused("tick") {
				t.Errorf("a viewer's form: %d", status)
			}
			b.forgiveEach(2, "status of 403")
		}
		if user == "oscar" { // the proven name is the audit's, whatever a form says
			b.visit("/actions/pause?job=tick")
			b.focus("form.sheet input[name=why]")
			b.do(chromedp.KeyEvent(reason), chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS(".notice")))
			if out := s.run("jobs", "show", "tick"); !strings.Contains(out, "oscar") {
				t.Errorf("the pause is not oscar's: %s", out)
			}
			s.run("jobs", "resume", "tick", "--why", "x", "--by", "test")
			b.visit("/actions/rerun?run=" + url.QueryEscape(dead))
			if text := b.text("main"); !strings.Contains(text, "needs the role admin") {
				t.Errorf("an operator sees %q", text)
			}
			b.forgiveEach(1, "status of 403")
		}
	}
}
