package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/internal/terminal"
)

func TestATerminalShowsTheLineAndACaret(t *testing.T) {
	d := newDesk(t, exportable)
	file := d.write("wrong.yaml", strings.Replace(exportable, `"0 * * * *"`, `"61 * * * *"`, 1))
	want := "    " + `  - { id: hourly, schedule: "61 * * * *", targetUrlEnv: SVC_URL, path: /hourly }`
	code, _, shown := d.typed(t.Context(), "", "check", file)
	lines := strings.Split(shown, "\n")
	if code != exitUsage || len(lines) < 3 || !strings.HasSuffix(lines[2], "^") {
		t.Fatalf("exit %d: %s", code, shown)
	}
	if at := len(lines[2]) - 1; !strings.Contains(want, strings.TrimSpace(lines[1])) || !strings.HasPrefix(lines[1][at:], "61 ") {
		t.Errorf("the caret is not below the minute:\n%s", shown)
	}
	for _, line := range lines[1:3] {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if _, _, errs := d.run("check", file); strings.Contains(errs, "^") {
		t.Errorf("a caret without a terminal: %s", errs)
	}
}

// Before the place stand characters that take two columns, or none.
func TestTheCaretFollowsWideCharacters(t *testing.T) {
	d := newDesk(t, exportable)
	for _, description := range []string{"日本", "e\u0301e\u0301", "🎉", strings.Repeat("日本", 200)} {
		wrong := strings.Replace(exportable, "{ id: hourly, ", "{ description: \""+description+"\", id: hourly, ", 1)
		_, _, shown := d.typed(t.Context(), "", "check", d.write("wide.yaml", strings.Replace(wrong, `"0 * * * *"`, `"61 * * * *"`, 1)))
		lines := strings.Split(shown, "\n")
		if len(lines) < 3 || !strings.HasSuffix(lines[2], "^") {
			t.Fatal(shown)
		}
		before, _, found := strings.Cut(lines[1], `61 * *`)
		if caret := len(lines[2]) - 1; !found || terminal.Columns(before) != caret || terminal.Columns(lines[1]) > 80 {
			t.Errorf("the caret is in column %d of\n%s", caret, shown)
		}
	}
}

func TestCheckTakesAFile(t *testing.T) {
	d := newDesk(t, "not: a registry")
	file := d.write("good.yaml", exportable)
	if code, out, errs := d.run("check", "--no-env", file); code != 0 {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, _, errs := d.run("check", file, "--config", file); code != exitUsage || !strings.Contains(errs, "not both") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestVersionIsAFlagToo(t *testing.T) {
	_, command, _ := invoke(t, nil, "version")
	if code, flag, errs := invoke(t, nil, "--version"); code != 0 || flag != command {
		t.Errorf("exit %d: %q, want %q; %s", code, flag, command, errs)
	}
}

func TestAScheduleThatTheShellExpandedIsRecognized(t *testing.T) {
	code, _, errs := invoke(t, nil, "next", "--expr", "0", "3", "README.md", "cmd", "docs")
	if code != exitUsage || !strings.Contains(errs, "needs quotes") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A trial has effects: at a terminal it is confirmed, and anything but yes is no.
func TestTryAsksBeforeItCalls(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	d := newDesk(t, exportable)
	for _, answer := range []string{"\n", "n\n", "what\n", ""} {
		code, _, shown := d.typed(t.Context(), answer, "try", "--url", server.URL+"/x")
		if code != exitFailed || calls.Load() != 0 || !strings.Contains(shown, "up to 6 real calls") {
			t.Fatalf("answer %q: exit %d, %d calls: %s", answer, code, calls.Load(), shown)
		}
	}
	d.typed(t.Context(), "y\n", "try", "--url", server.URL+"/x")
	if calls.Load() == 0 {
		t.Error("yes makes no call")
	}
	calls.Store(0)
	if _, _, shown := d.typed(t.Context(), "", "try", "--yes", "--url", server.URL+"/x"); calls.Load() == 0 || strings.Contains(shown, "real calls") {
		t.Errorf("--yes: %d calls: %s", calls.Load(), shown)
	}
}

func TestPurgeWithoutALedgerSaysSo(t *testing.T) {
	d := newDesk(t, exportable)
	if code, out, errs := d.run("purge"); code != exitFailed || out != "" || !strings.Contains(errs, "no ledger exists yet") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// One job and one problem are in the singular.
func TestCheckCountsInWords(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	one := d.write("one.yaml", "name: acme\njobs: []\n") // and the nightly purge
	if out := d.ok("check", one); !strings.Contains(out, "ok: 1 job, ") {
		t.Error(out)
	}
	bad := d.write("bad.yaml", "name: acme\njobs:\n  - { id: a, schedule: \"@dayly\", targetUrlEnv: MEMBERSHIP_URL, path: /a }\n")
	if code, _, errs := d.run("check", bad); code != exitUsage || !strings.Contains(errs, "\n1 problem; nothing was started\n") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
