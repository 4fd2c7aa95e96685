package browsertest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
)

// A page that is left open asks for changes, and an update leaves the
// focus and the scroll where they are.
func TestAnOpenPageFollows(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		b := open(t, s)
		b.look(1280, "light")
		b.visit("/runs?job=refused")
		eventually(t, "a page that scrolls", func() bool {
			return eval[bool](b, "document.documentElement.scrollHeight > innerHeight + 100 && document.querySelectorAll('tbody tr').length > 5")
		})
		if text := eval[string](b, "performance.getEntriesByType('resource').map((r) => new URL(r.name).pathname).join()+document.documentElement.dataset.changes"); !strings.Contains(text, "/v1/changes") {
			t.Errorf("the page asks for no changes: %s", text)
		}
		focused := eval[string](b, `(() => {
			const link = document.querySelectorAll("td.lead a")[3];
			scrollTo(0, 90); link.focus({preventScroll: true});
			window.kept = link; window.first = document.querySelector("td.lead a").href;
			return link.href;
		})()`)
		eventually(t, "an update", func() bool { return eval[bool](b, "document.querySelector('td.lead a').href !== window.first") })
		if got := eval[string](b, "document.activeElement.href + ' ' + scrollY + ' ' + (document.activeElement === window.kept)"); got != focused+" 90 true" {
			t.Errorf("after the update the focus is on %s, want %s", got, focused)
		}
	})
}

// A page that is left open for an hour looks at the ledger some hundred times, and
// does not grow. Here each look has an answer in full, which is put into the page.
func TestAnOpenPageDoesNotGrow(t *testing.T) {
	busy(t, func(t *testing.T, s *server) {
		b := open(t, s)
		eventually(t, "a page of fifty runs", func() bool {
			b.visit("/runs")
			return eval[int](b, "document.querySelectorAll('tbody tr').length") == 50
		})
		eval[bool](b, `(() => {
			const real = window.fetch; window.looks = 0; window.first = document.querySelector("td.lead a").href;
			window.fetch = async (address) => { const answer = await real(address, {cache: "no-store"}); if (answer.status === 200) window.looks++; return answer; };
			return true;
		})()`)
		looks := func(n int) {
			t.Helper()
			eval[bool](b, fmt.Sprintf(`(async () => {
				for (const end = window.looks + %d; window.looks < end;) {
					document.dispatchEvent(new Event("visibilitychange"));
					await new Promise((done) => setTimeout(done, 20));
				}
				return true;
			})()`, n))
		}
		looks(40)
		before := b.size()
		looks(200)
		after := b.size()
		t.Logf("before %v, after 200 updates %v", before, after)
		if eval[bool](b, "document.querySelector('td.lead a').href === window.first") {
			t.Error("no update changed the page")
		}
		for name, n := range after {
			if n > before[name]*1.5 {
				t.Errorf("%s grew from %.0f to %.0f", name, before[name], n)
			}
		}
	})
}

// size is what a page holds after collections of garbage: the least of a few, as what
// the last update left may outlive one.
func (b *tab) size() map[string]float64 {
	b.Helper()
	call(b, performance.Enable, performance.EnableParams{})
	out := map[string]float64{}
	for range 3 {
		call(b, heapprofiler.CollectGarbage, cdp.Empty{})
		for _, m := range call(b, performance.GetMetrics, cdp.Empty{}).Metrics {
			if m.Name == "Nodes" || m.Name == "JSEventListeners" || m.Name == "JSHeapUsedSize" {
				if least, known := out[m.Name]; !known || m.Value < least {
					out[m.Name] = m.Value
				}
			}
		}
	}
	return out
}
