package browsertest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
)

// search finds a text with the box at the top of each page.
func (n *newcomer) search(text string) {
	n.Helper()
	n.clicks++
	from := eval[string](n.tab, "location.href")
	n.focus("#find")
	n.do(chromedp.KeyEvent(text), chromedp.KeyEvent(kb.Enter))
	n.arrived(from)
}

// fill writes into a field of the page's form.
func (n *newcomer) fill(selector, text string) {
	n.Helper()
	n.focus(selector)
	n.do(chromedp.KeyEvent(text))
}

// choose sends the form of a field with one of its values.
func (n *newcomer) choose(selector, value string) {
	n.Helper()
	eval[bool](n.tab, "(document.querySelector("+quoted(selector)+").value = "+quoted(value)+", true)")
}

// press sends the form of a field.
func (n *newcomer) press(field string) {
	n.Helper()
	n.clicks++
	eval[bool](n.tab, "(document.body.id = 'left', document.querySelector("+quoted(field)+").form.requestSubmit(), true)")
	eventually(n.T, "the page behind "+field, func() bool {
		return n.holds(`document.readyState === "complete" && document.body.id !== "left" && !!document.querySelector("main")`)
	})
}

func (n *newcomer) arrived(from string) {
	n.Helper()
	eventually(n.T, "another page than "+from, func() bool {
		return n.holds(`location.href !== ` + quoted(from) + ` && document.readyState === "complete" && !!document.querySelector("main")`)
	})
}

// atMost fails the test if it took more clicks than a task may take.
func (n *newcomer) atMost(clicks int) {
	n.Helper()
	if n.clicks > clicks {
		n.Errorf("it took %d clicks, want at most %d", n.clicks, clicks)
	}
}

// TestTwelveTasks does what an operator does in the morning, on each engine: what only reads
// first, on one server.
func TestTwelveTasks(t *testing.T) {
	tasks := []struct {
		name string
		do   func(*newcomer)
	}{
		{"what is wrong, and since when", whatIsWrong},
		{"why there was no run at a local time of yesterday", whyNoRunYesterday},
		{"when a job runs across the clock change", acrossTheClockChange},
		{"what got slower this month", whatGotSlower},
		{"find a pasted key", findAKey},
		{"compare a revision with an earlier one", compareRevisions},
		{"export last month's failures", exportFailures},
		{"how many calls an hour a target gets", callsAnHour},
		{"redrive last night's dead runs of a team", redriveATeam},
		{"who paused a job, and resume it", resume},
		{"pause all of a target for an hour", pauseATarget},
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			config, db := writePastOn(t, engine, platform, 3)
			s := serve(t, config, db, target(t, fine))
			for _, task := range tasks {
				t.Run(task.name, func(t *testing.T) {
					n := &newcomer{tab: open(t, s)}
					n.look(1280, "light")
					n.visit("/")
					task.do(n)
				})
			}
			t.Run("was an alert sent, and did it arrive", func(t *testing.T) { wasAnAlertSent(t, newLedger(t, engine)) })
		})
	}
}

// newLedger is the address of an empty ledger.
func newLedger(t *testing.T, engine string) string {
	t.Helper()
	if engine == "postgres" {
		return testdb.Postgres(t)
	}
	return "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
}

// whatIsWrong reads the cause, the jobs and since when, without a click.
func whatIsWrong(n *newcomer) {
	n.sees("1 thing needs attention", "6 dead runs nobody has acknowledged", "sync-crm", "5 dead runs", "send-invoices", "h ago")
	n.atMost(0)
}

func whyNoRunYesterday(n *newcomer) {
	n.search("close-books")
	n.sees("at (Europe/London)")
	n.fill("input[name=at]", time.Now().AddDate(0, 0, -1).Format(time.DateOnly)+" 03:00")
	n.press("input[name=at]")
	n.sees("is not a scheduled time of this job", "T03:00:00", "0 0 * * * (Europe/London)", "The scheduled time before")
	n.atMost(2)
}

func redriveATeam(n *newcomer) {
	n.search("crm team")
	n.sees("sync-crm", "CRM team")
	n.follow("main .actions a", "Dead runs")
	n.follow("main .actions a", "Redrive the dead")
	n.sees("Redrive dead runs of owner CRM team", "will change", "cronce runs redrive --owner 'CRM team'")
	if got := n.sendForm("maria"); !strings.Contains(got, "Redrove 5 runs") {
		n.Fatalf("the page says %q", got)
	}
	n.atMost(3)
}

func resume(n *newcomer) {
	n.sees("paused", "1 d ago by maria")
	n.follow("main td a", "expire-trials")
	n.sees("by maria: the trial table is being migrated until Monday")
	n.follow("main .actions a", "Resume")
	if got := n.sendForm("jonas"); !strings.Contains(got, "Resumed") {
		n.Fatalf("the page says %q", got)
	}
	n.atMost(3)
}

func pauseATarget(n *newcomer) {
	n.follow("nav a", "Targets")
	n.follow("main td a", "billing")
	n.follow("main .actions a", "Pause its jobs")
	n.sees("Pause until ", "cronce pauses add --target billing")
	if got := n.sendForm("maria"); !strings.Contains(got, "Paused until") {
		n.Fatalf("the page says %q", got)
	}
	n.sees("target billing")
	n.atMost(3)
}

func whatGotSlower(n *newcomer) {
	n.follow("nav a", "Jobs")
	n.choose("select[name=sort]", "slower")
	n.press("select[name=sort]")
	n.sees("slower than last month", "charge-subscriptions")
	n.atMost(2)
}

// A key as the log of a target has it: in capitals, in quotes, of another form than the run ID.
func findAKey(n *newcomer) {
	id := jobs.RunID("sync-crm", time.Now().UTC().Truncate(24*time.Hour).Add(-24*time.Hour+20*time.Minute))
	n.search(`"` + strings.ToUpper(jobs.KeyUUID4.Of(id)) + `"`)
	n.sees(id, "Timeline")
	n.visit("/")
	n.search(jobs.KeyToken64.Of(id))
	n.sees(id, "Timeline")
	n.atMost(2)
}

func compareRevisions(n *newcomer) {
	n.search("sync-crm")
	n.sees("What changed", "20 */2 * * *", "20 * * * *")
	n.press("select[name=from]")
	n.sees("20 */2 * * *", "20 * * * *")
	n.atMost(2)
}

func exportFailures(n *newcomer) {
	n.follow("nav a", "Runs")
	n.choose("select[name=state]", "dead")
	n.fill("input[name=since]", "30d")
	n.press("input[name=since]")
	n.sees("Export all that match", "CSV", "NDJSON")
	csv := eval[string](n.tab, `fetch([...document.querySelectorAll("main a[download]")].find((a) => a.textContent === "CSV").href).then((r) => r.text())`)
	if lines := strings.Split(strings.TrimSpace(csv), "\r\n"); !strings.Contains(lines[0], "owner,target,error") || len(lines) < 6 || !strings.Contains(csv, "sync-crm@") || strings.Contains(csv, "succeeded") {
		n.Errorf("the export has\n%s", csv)
	}
	n.atMost(2)
}

func callsAnHour(n *newcomer) {
	n.follow("nav a", "Targets")
	n.follow("main td a", "billing")
	n.sees("Calls an hour", "error rate", "charge-subscriptions", "Next calls")
	n.atMost(2)
}

// A notification that was sent, and that it arrived, is on the page of the run that died.
func wasAnAlertSent(t *testing.T, db string) {
	const registry = `version: 1
name: acme
targets: { svc: { urlEnv: SVC_URL } }
jobs: [{ id: broken, schedule: "@yearly", target: svc, path: /broken, retry: { backoff: [] } }]
notifications: [{ name: ops, type: webhook, urlEnv: HOOK_URL }]
`
	env := target(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	})
	config := filepath.Join(t.TempDir(), "cronce.yaml")
	must(t, os.WriteFile(config, []byte(registry), 0o600))
	s := serve(t, config, db, env, "HOOK_URL="+strings.TrimPrefix(env, "SVC_URL=")+"/hook")
	n := &newcomer{tab: open(t, s)}
	n.look(1280, "light")
	n.visit("/jobs/broken")
	n.link("/jobs/broken", "trigger")
	n.sendForm("maria")
	eventually(t, "the dead run", func() bool {
		n.visit("/")
		return strings.Contains(n.text("main"), "1 dead run")
	})
	n.follow("main .attention a.id", "broken@")
	eventually(t, "the notification on the page, which follows the ledger", func() bool { return strings.Contains(n.text("main"), "arrived") })
	n.sees("Notifications and pings", "opened")
	n.atMost(1)
}
