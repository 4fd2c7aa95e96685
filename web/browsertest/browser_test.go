package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var (
	browserOnce  sync.Once
	browser      context.Context
	closeBrowser = func() {}
)

// tab is a page of the browser that fails its test for whatever the browser
// complains about: an error in the console, a violation of the policy, a request
// to another host.
type tab struct {
	*testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string
	allowed    string // the address of the only server to be asked
}

// open opens a tab that may ask only this server.
func open(t *testing.T, s *server) *tab {
	t.Helper()
	browserOnce.Do(func() {
		alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(browserPath()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("force-color-profile", "srgb"))...)
		ctx, cancel := chromedp.NewContext(alloc)
		browser = ctx
		must(t, chromedp.Do(ctx))
		closeBrowser = func() {
			_ = chromedp.Cancel(ctx)
			cancel()
			cancelAlloc()
		}
	})
	ctx, cancel := chromedp.NewContext(browser)
	b := &tab{T: t, ctx: ctx, allowed: s.url + "/"}
	t.Cleanup(cancel)
	must(t, chromedp.Listen(ctx, b.listen))
	call(b, network.Enable, network.EnableParams{})
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"})
	call(b, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"})
	t.Cleanup(b.calm)
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.complaints = append(b.complaints, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, "console: "+string(e.Type))
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.allowed) {
			b.complaints = append(b.complaints, "a request to "+e.Request.URL)
		}
	}
}

// calm fails the test for what the browser complained about since the last time.
func (b *tab) calm() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.Errorf("the browser complains: %s", c)
	}
	b.complaints = nil
}

// forgive forgets complaints that a case provokes.
func (b *tab) forgive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = nil
}

// forgiveEach waits for n complaints with a text, which may come late, and forgets all.
func (b *tab) forgiveEach(n int, text string) {
	b.Helper()
	eventually(b.T, "complaints about "+text, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return strings.Count(strings.Join(b.complaints, "\n"), text) >= n
	})
	b.forgive()
}

// maxWait is for a busy machine.
const maxWait = 2 * time.Minute

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, maxWait)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// call runs a command of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, maxWait)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.Fatal(err)
	}
	return result
}

// visit opens a page and waits until it has loaded.
func (b *tab) visit(path string) {
	b.Helper()
	b.do(chromedp.Navigate(strings.TrimSuffix(b.allowed, "/")+path), chromedp.WaitReady(chromedp.CSS("main")))
}

// eval is the value of an expression on the page.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, maxWait)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// holds evaluates a condition while one page may be replaced by the next. A page that is
// replaced during the evaluation gives no answer, which counts as no.
func (b *tab) holds(condition string) bool {
	ctx, cancel := context.WithTimeout(b.ctx, maxWait)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[bool](condition, chromedp.EvalAwaitPromise))
	return err == nil && value
}

func (b *tab) text(selector string) string {
	b.Helper()
	return eval[string](b, "document.querySelector("+quoted(selector)+")?.innerText ?? ''")
}

func quoted(s string) string {
	text, _ := json.Marshal(s) // of a string it never fails
	return string(text)
}

// look sets the window's width and the color scheme.
func (b *tab) look(width int64, scheme string) {
	b.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// picture is the whole page as a PNG.
func (b *tab) picture() []byte {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, maxWait)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	return png
}
