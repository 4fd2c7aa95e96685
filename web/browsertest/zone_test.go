package browsertest_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// The browser's own zone is one of those to choose; it holds on each page, without a script too.
func TestTimesInTheBrowsersZone(t *testing.T) {
	n := arrive(t)
	defer call(n.tab, network.ClearBrowserCookies, cdp.Empty{})
	n.choose("#zone", "Europe/Berlin")
	n.press("#zone")
	n.follow("nav a", "Runs")
	own := eval[string](n.tab, "document.querySelector('#zone').selectedOptions[0].text + ' ' + document.querySelector('main time').title")
	if !strings.HasPrefix(own, "mine: Europe/Berlin 20") || !strings.Contains(own, " CE") {
		t.Errorf("the page has %q", own)
	}
	call(n.tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	n.visit("/runs")
	text, err := chromedp.Run(n.ctx, chromedp.Text(chromedp.CSS("form.filters")))
	must(t, err)
	if !strings.Contains(text, "Since (Europe/Berlin)") {
		t.Errorf("the form has %s", text)
	}
}
