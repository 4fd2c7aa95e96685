package browsertest_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// newcomer is somebody who has read nothing: they begin at the overview, read what a
// page says, and follow its links by their words.
type newcomer struct {
	*tab
	clicks int
}

func arrive(t *testing.T) *newcomer {
	t.Helper()
	config, db := writePast(t, platform, 3)
	n := &newcomer{tab: open(t, serve(t, config, db, target(t, fine)))}
	n.look(1280, "light")
	n.visit("/")
	return n
}

// sees fails the test unless the page says each of these.
func (n *newcomer) sees(words ...string) {
	n.Helper()
	text := n.text("body")
	for _, w := range words {
		if !strings.Contains(text, w) {
			n.Fatalf("after %d clicks, at %s, the page does not say %q:\n%s", n.clicks, eval[string](n.tab, "location.href"), w, text)
		}
	}
}

// follow clicks the first link, of those that a selector finds, whose words or hint
// have a text, and waits for the next page.
func (n *newcomer) follow(selector, words string) {
	n.Helper()
	n.clicks++
	found := eval[bool](n.tab, `(() => {
		const link = [...document.querySelectorAll(`+quoted(selector)+`)].find((a) => (a.innerText + " " + a.title).includes(`+quoted(words)+`));
		if (!link) return false;
		link.id = "next-step";
		return true;
	})()`)
	if !found {
		n.Fatalf("after %d clicks, at %s, there is no link %q:\n%s", n.clicks-1, eval[string](n.tab, "location.href"), words, n.text("main"))
	}
	n.do(chromedp.Click(chromedp.CSS("#next-step")))
	eventually(n.T, "the page behind "+words, func() bool {
		return n.holds(`document.readyState === "complete" && !document.getElementById("next-step")`)
	})
}

func (n *newcomer) took(clicks int) {
	n.Helper()
	if n.clicks != clicks {
		n.Errorf("it took %d clicks, want %d", n.clicks, clicks)
	}
}

func TestTaskWhyWasYesterdaysRunSkipped(t *testing.T) {
	n := arrive(t)
	n.follow("main td a", "expire-trials")
	n.sees("Paused", "by maria", "the trial table is being migrated until Monday", "skipped")
	n.follow("main .cells a", "skipped (paused)")
	n.sees("This run was skipped: the job was paused", "maria paused it on", "the trial table is being migrated until Monday", "Run it after all")
	n.took(2)
}

func TestTaskRedriveLastNightsDeadRunsOfOneJob(t *testing.T) {
	n := arrive(t)
	n.sees("5 dead runs: every retry was used")
	n.follow(`main .actions a[href*="job=sync-crm"]`, "Redrive")
	n.sees("Redrive dead runs of sync-crm", "will change", "sent again under its own key", "cronce runs redrive --job sync-crm")
	if got := n.sendForm("maria"); !strings.Contains(got, "Redrove 5 runs") || !strings.Contains(got, "Cancel what is unfinished") {
		t.Fatalf("the page says %q", got)
	}
	n.took(1)
	n.visit("/")
	eventually(t, "the overview without these runs", func() bool { return !strings.Contains(n.text("main"), "5 dead runs") })
}

func acrossTheClockChange(n *newcomer) {
	n.follow("nav a", "Jobs")
	n.follow("main td a", "close-books")
	n.sees("every day at 00:00, Europe/London", "Next ten", "At the next clock change", "GMT", "BST", "1 h")
	if text := n.text("main"); !strings.Contains(text, "clocks go forward 1 h") && !strings.Contains(text, "clocks go back 1 h") {
		n.Errorf("the page does not say how the clocks change:\n%s", text)
	}
	n.took(2)
}

// What is wrong is in the title, on the page and in the icon; it goes when it is settled,
// on a page that is left open.
func TestTaskIsAnythingWrongNow(t *testing.T) {
	n := arrive(t)
	n.sees("1 thing needs attention", "6 dead runs nobody has acknowledged", "sync-crm", "send-invoices")
	if title := eval[string](n.tab, "document.title + ' ' + document.querySelector('link[rel=icon]').href"); !strings.Contains(title, "(1) 1 problem") || !strings.Contains(title, "favicon-trouble") {
		t.Errorf("the title and the icon: %s", title)
	}
	n.took(0)
	for range 2 {
		n.follow("main .attention .actions a", "Acknowledge")
		n.sendForm("maria")
		n.visit("/")
	}
	n.sees("All is well")
	if title := eval[string](n.tab, "document.title"); !strings.HasPrefix(title, "All is well") {
		t.Errorf("the title is %q", title)
	}
}
