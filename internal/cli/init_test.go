package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

// keyboard and monitor are a terminal with a person at it.
type keyboard struct{ *strings.Reader }

func (keyboard) Columns() int { return 80 }

type monitor struct{ bytes.Buffer }

func (*monitor) Columns() int { return 80 }

// typed runs a command at a terminal where a person types.
func (d *desk) typed(ctx context.Context, text string, args ...string) (code int, out, shown string) {
	d.Helper()
	var o bytes.Buffer
	m := &monitor{}
	code = runAt(ctx, args, streams{keyboard{strings.NewReader(text)}, &o, m}, d.lookup, func() time.Time { return noon })
	return code, o.String(), m.String()
}

func TestInitWritesARegistryThatCheckAccepts(t *testing.T) {
	d := newDesk(t, exportable)
	file := d.path("new.yaml")
	code, out, errs := d.run("init", "--config", file, "--name", "acme", "--job", "close-day", "--schedule", "@daily", "--timezone", "Europe/London", "--url-env", "BILLING_URL", "--path", "/v1/close")
	if code != 0 || !strings.Contains(out, "export BILLING_URL") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, comment := range []string{"part of every run ID,", "# The environment variable that"} { // of the answers, nothing is in the comments
		if !strings.Contains(string(text), comment) {
			t.Errorf("no %q in\n%s", comment, text)
		}
	}
	if first, _, _ := strings.Cut(string(text), "\n"); first != "# yaml-language-server: $schema="+jobs.SchemaURL {
		t.Errorf("the first line is %q", first)
	}
	if code, out, errs := d.run("check", "--no-env", "--config", file); code != 0 || !strings.Contains(out, "every day at 00:00, Europe/London") {
		t.Errorf("check: exit %d: %s%s", code, out, errs)
	}
	if code, _, errs := d.run("init", "--config", file); code != exitUsage || !strings.Contains(errs, "is not overwritten") {
		t.Errorf("a second init: exit %d: %s", code, errs)
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(text, after) {
		t.Error("the second init changed the file")
	}
}

// What a flag gets wrong is told without a place in a file that nobody has seen.
func TestInitRefusesWrongFlags(t *testing.T) {
	t.Parallel()
	d := newDesk(t, exportable)
	for _, test := range []struct{ flag, value, says string }{
		{"--schedule", "61 * * * *", "cronce: invalid minute"}, {"--job", "Bad Id", `cronce: invalid id "Bad Id"`}, {"--path", "x", `cronce: the path "x" must begin with /`},
		{"--name", "a: b", `cronce: invalid name "a: b"`}, {"--timezone", "Europe/Lodnon", `did you mean "Europe/London"?`},
	} {
		if code, out, errs := d.run("init", "--config", d.path("new.yaml"), test.flag, test.value); code != exitUsage || out != "" || !strings.Contains(errs, test.says) || strings.Contains(errs, ".yaml") || d.exists("new.yaml") {
			t.Errorf("%s %s: exit %d: %s%s", test.flag, test.value, code, out, errs)
		}
	}
	if code, _, errs := d.run("init", "--config", "-"); code != exitUsage || !strings.Contains(errs, "init writes a file") {
		t.Errorf("--config -: exit %d: %s", code, errs)
	}
}

// A wrong answer is asked for again; an empty one is the default.
func TestInitAsksOnATerminal(t *testing.T) {
	d := newDesk(t, exportable)
	file := d.path("asked.yaml")
	code, _, shown := d.typed(t.Context(), "a b\nacme\nclose-day\nEurope/Lodnon\nEurope/London\n61 * * * *\n0 4 * * *\n\n/v1/close\n", "init", "--config", file)
	if code != 0 || !strings.Contains(shown, `did you mean "Europe/London"?`) || !strings.Contains(shown, "valid values: 0-59") {
		t.Fatalf("exit %d: %s", code, shown)
	}
	reg, err := jobs.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if j, ok := reg.Job("close-day"); !ok || reg.Name() != "acme" || j.Schedule != "0 4 * * *" || j.Timezone != "Europe/London" || j.Path != "/v1/close" {
		t.Errorf("registry %s, job %+v", reg.Name(), j)
	}
}

func TestInitWritesNothingWhenItIsInterrupted(t *testing.T) {
	d := newDesk(t, exportable)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, ctx := range []context.Context{t.Context(), stopped} { // the input ends, Ctrl-C
		if code, _, shown := d.typed(ctx, "", "init", "--config", d.path("none.yaml")); code != exitFailed {
			t.Errorf("exit %d: %s", code, shown)
		}
	}
	if code, _, errs := d.run("init", "--config", d.path("none.yaml"), "--schedule", "nonsense"); code != exitUsage {
		t.Errorf("a wrong flag: exit %d: %s", code, errs)
	}
	if _, err := os.Stat(d.path("none.yaml")); err == nil {
		t.Error("there is a file")
	}
}

func TestSchemaPrintsASchemaWithItsID(t *testing.T) {
	code, out, errs := invoke(t, nil, "schema")
	var schema map[string]any
	if err := json.Unmarshal([]byte(out), &schema); code != 0 || err != nil || schema["$id"] != jobs.SchemaURL {
		t.Errorf("exit %d, %v, $id %v: %s", code, err, schema["$id"], errs)
	}
}
