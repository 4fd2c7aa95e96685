package cli_test

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
)

// odd clears a screen, forges a line and turns text around.
const odd = "x\x1b[2J\u009b31m\ncronce: ok\r\u202e\u200b"

// fill sets every text of a value to odd, and makes every list, map and pointer hold one value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(odd)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			text, _ := json.Marshal(odd)
			v.SetBytes(text)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

// oddAnswer has the fields of every answer of the API, with odd texts.
func oddAnswer(t *testing.T, path string) map[string]any {
	t.Helper()
	all := map[string]any{}
	add := func(v any) {
		fill(reflect.ValueOf(v).Elem())
		text, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			t.Error(err)
		}
	}
	switch {
	case path == "/v1/status":
		add(&operations.Status{})
	case path == "/v1/jobs":
		add(&struct{ Jobs []operations.Job }{})
		all = map[string]any{"jobs": all["Jobs"]}
	case path == "/v1/runs":
		add(&struct{ Runs []operations.Run }{})
		all = map[string]any{"runs": all["Runs"]}
	case path == "/v1/incidents":
		add(&struct{ Incidents []operations.Incident }{})
		all = map[string]any{"incidents": all["Incidents"]}
	case strings.HasPrefix(path, "/v1/incidents/"):
		add(&operations.Incident{})
	case path == "/v1/why":
		add(&operations.Explanation{})
	case strings.HasSuffix(path, "/redrive"), strings.HasSuffix(path, "/cancel"), strings.HasSuffix(path, "/ack"):
		add(&operations.RunActionResult{})
	case strings.HasSuffix(path, "/pause"), strings.HasSuffix(path, "/resume"):
		add(&operations.JobActionResult{})
	case strings.HasSuffix(path, "/trigger"), strings.HasSuffix(path, "/rerun"):
		add(&operations.Run{})
		all["state"] = "dead" // it is not waited for
	case strings.HasSuffix(path, "/backfill"):
		add(&operations.Backfilled{})
	case strings.HasPrefix(path, "/v1/runs/"):
		add(&operations.RunDetail{})
	default:
		add(&operations.JobDetail{})
	}
	return all
}

// Whatever a server answers, no command prints what a terminal would obey.
func TestAHostileServerWritesNothingThatATerminalObeys(t *testing.T) {
	t.Parallel()
	answers := map[string]http.HandlerFunc{
		"values": func(w http.ResponseWriter, r *http.Request) { _ = json.NewEncoder(w).Encode(oddAnswer(t, r.URL.Path)) },
		"a problem": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]any{"title": odd, "detail": odd, "code": odd, "status": 400})
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(odd)) },
		"other types": func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"jobs": odd, "runs": odd, "state": []string{odd}, "changed": odd, odd: 1})
		},
	}
	for name, answer := range answers {
		server := httptest.NewServer(answer)
		defer server.Close()
		env := map[string]string{"CRONCE_SERVER": server.URL, "USER": "ann"}
		run := "tick@2026-11-21T03:00:00Z"
		for _, line := range []string{
			"status", "jobs list", "jobs show tick", "runs list", "runs show " + run, "why tick 2026-11-21T03:00:00Z", "trigger tick --why x", "jobs pause tick --why x", "jobs resume tick --why x",
			"runs cancel " + run + " --why x", "runs ack " + run + " --why x", "runs redrive " + run + " --why x", "runs rerun " + run + " --new-key --why x",
			"backfill tick --from 2026-11-21 --to 2026-11-22 --why x", "incidents list", "incidents show 1", "incidents ack 1 --why x", "next tick", "__complete jobs show x", "__complete runs show x",
		} {
			for _, form := range []string{"", " -o json", " -o id"} {
				if strings.HasPrefix(line, "__") && form != "" {
					continue
				}
				_, out, errs := invoke(t, env, strings.Fields(line+form)...)
				checkShown(t, name+": "+line+form, out+errs)
			}
		}
	}
}

// checkShown checks that an output has no character that a terminal obeys, and no line that a text
// forged.
func checkShown(t *testing.T, what, text string) {
	t.Helper()
	if text == "" && !strings.HasPrefix(what, "other types") {
		t.Errorf("%s prints nothing", what)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if found := plaintext.Check(line); found != "" || line == "cronce: ok" {
			t.Errorf("%s prints %s: %+q", what, found, line)
		}
	}
}

// What an earlier version stored is shown, and moves no cursor.
func TestStoredTextsMoveNoCursor(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	if code, out, errs := d.run("jobs", "pause", "new-year", "--why", "asked"); code != 0 {
		t.Fatal(out, errs)
	}
	db, err := sql.Open("sqlite", d.path("ledger.db"))
	d.must(err)
	for _, change := range []string{
		`UPDATE jobs SET paused_by = ?1, paused_why = ?1`, `UPDATE runs SET by = ?1, why = ?1`, `UPDATE audit SET by = ?1, why = ?1`,
		`UPDATE attempts SET error = ?1`, `UPDATE incidents SET error = ?1, acked_by = ?1, why = ?1`,
	} {
		_, err := db.ExecContext(t.Context(), change, odd)
		d.must(err)
	}
	d.must(db.Close())
	const run = "release-locks@2026-11-21T08:00:00Z"
	for _, line := range []string{
		"jobs list", "jobs show new-year", "runs list", "runs show " + run, "incidents list --closed", "incidents show 1", "why new-year 2030-01-01T00:00:00Z", "why release-locks 2026-11-21T08:00:00Z",
	} {
		for _, form := range []string{"", " -o json"} {
			_, out, errs := d.run(strings.Fields(line + form)...)
			checkShown(t, line+form, out+errs)
		}
	}
	_, out, _ := d.run("jobs", "show", "new-year", "-o", "json")
	var job operations.JobDetail
	if err := json.Unmarshal([]byte(out), &job); err != nil || job.PausedWhy != odd {
		t.Errorf("%v: JSON has the reason %+q, want it as it is stored", err, job.PausedWhy)
	}
}

// The command line refuses what it could not show.
func TestReasonsAreLinesThatAreShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	for _, args := range [][]string{
		{"jobs", "pause", "new-year", "--why", odd}, {"jobs", "pause", "new-year", "--why", "x", "--by", "ann\u202e"},
		{"runs", "ack", "release-locks@2026-11-21T08:00:00Z", "--why", "two\nlines"}, {"incidents", "ack", "2", "--why", "a\u200bb"}, {"trigger", "release-locks", "--why", "\x7f"},
	} {
		code, _, errs := d.run(args...)
		if code != exitUsage || !strings.Contains(errs, "use one line of text without control, directional or invisible characters") {
			t.Errorf("%+q: exit %d, %s", args, code, errs)
		}
	}
}
