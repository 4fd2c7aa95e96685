package cli_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
)

var operation = regexp.MustCompile(`(?m)^  (/v1/\S+):$|^    (get|post):$`)

// everyEndpoint is what the API answers to a request of each operation in its
// document.
func everyEndpoint(t *testing.T, at, runID string) (text string) {
	t.Helper()
	document, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	query := map[string]string{"/v1/why": "?job=job-jwt&at=2030-01-01T00:00:00Z", "/v1/runs": "?state=dead", "/v1/export/members": "?run=" + url.QueryEscape(runID)}
	ahead := time.Now().UTC().AddDate(0, 0, 300)
	fields := map[string]string{
		"pauses":   `"job":"job-jwt","from":"` + ahead.Format(time.RFC3339) + `","until":"` + ahead.Add(time.Hour).Format(time.RFC3339) + `"`,
		"backfill": `"from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:01Z"`, "rerun": `"newKey":true,"mayDouble":true`,
		"redrive": `"runIds":["` + runID + `"]`, "cancel": `"runIds":["` + runID + `"]`, "ack": `"runIds":["` + runID + `"]`,
	}
	var path string
	asked := 0
	_, text = ask(t, http.MethodPut, "http://"+at+"/v1/jobs/job-keyed/schedules/acme", `{"by":"ann","schedule":"@yearly"}`)
	for _, found := range operation.FindAllStringSubmatch(string(document), -1) {
		if found[1] != "" {
			path = found[1]
			continue
		}
		id := "job-jwt"
		if strings.HasPrefix(path, "/v1/incidents/") || strings.HasPrefix(path, "/v1/pauses/") {
			id = "1"
		}
		if strings.HasPrefix(path, "/v1/runs/") {
			id = url.PathEscape(runID)
		}
		if strings.Contains(path, "/schedules") {
			id = "job-keyed"
			if found[2] == "post" {
				continue // takes lines, and answers with what a PUT does
			}
		}
		target := strings.NewReplacer("{id}", id, "{key}", "acme").Replace(path) + query[path]
		body := `{"by":"ann","why":"planted"`
		act := path[strings.LastIndexByte(path, '/')+1:]
		if more := fields[act]; more != "" && (act == "backfill" || act == "rerun" || !strings.Contains(path, "{id}")) {
			body += "," + more
		}
		status, answer := ask(t, strings.ToUpper(found[2]), "http://"+at+target, body+"}")
		if status >= 400 && status != http.StatusConflict {
			t.Errorf("%s %s: %d %s", found[2], target, status, answer)
		}
		text += answer
		asked++
	}
	if asked < 20 {
		t.Errorf("asked %d operations; the document is read wrongly", asked)
	}
	return text
}

// everyPage is every page of the dashboard.
func everyPage(t *testing.T, at, runID string) (text string) {
	t.Helper()
	for _, page := range []string{"/", "/jobs", "/jobs/job-jwt", "/runs", "/runs?state=dead", "/runs/" + url.PathEscape(runID), "/targets", "/keys", "/processes", "/audit"} {
		status, answer := ask(t, http.MethodGet, "http://"+at+page, "")
		if status != http.StatusOK {
			t.Errorf("%s: %d", page, status)
		}
		text += answer
	}
	return text
}

func ask(t *testing.T, method, at, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "planted-"+req.URL.Path)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range res.Header {
		text += name + ": " + strings.Join(values, ", ") + "\n"
	}
	return res.StatusCode, text + string(answer)
}

// everyCommand is what each command prints, with --json and without. A command that
// is not in the list fails the test.
func everyCommand(t *testing.T, vars map[string]string, dead []operations.Run) (text string) {
	t.Helper()
	id, other := dead[len(dead)-1].RunID, dead[len(dead)-2].RunID
	dir := t.TempDir()
	lines := map[string]string{
		"check": "", "next": "job-jwt", "status": "", "jobs list": "", "jobs show": "job-jwt", "jobs diff": "job-jwt", "why": "job-jwt 2030-01-01T00:00:00Z",
		"trigger": "job-basic", "backfill": "job-jwt --from 2026-01-01T00:00:00Z --to 2026-01-01T00:00:01Z --why planted", "runs list": "", "runs show": id, "runs members": id,
		"runs redrive": id + " --why planted", "runs cancel": id + " --why planted", "runs ack": other + " --why planted", "runs rerun": other + " --new-key --why planted",
		"purge": "--dry-run", "try": "job-headers", "export cloudformation": "", "export terraform": "", "export jwks": "", "jobs pause": "job-jwt --why planted", "jobs resume": "job-jwt --why planted",
		"diff": "--against " + vars["CRONCE_CONFIG"], "migrate status": "", "migrate up": "", "migrate print": "--set ledger --engine sqlite",
		"schedules list": "job-keyed", "schedules get": "job-keyed acme", "schedules put": "job-keyed bolt --schedule @yearly", "schedules delete": "job-keyed bolt",
		"schedules pause": "job-keyed acme --why planted", "schedules resume": "job-keyed acme --why planted", "schedules history": "job-keyed acme",
		"schedules import": "job-keyed " + writeFile(t, `{"key":"lines","schedule":"@yearly"}`+"\n"),
		"access check":     writeFile(t, "version: 1\nproxy: { from: [127.0.0.1/32], userHeader: X-User }\ngrants:\n  - { role: viewer, users: [ann] }\n"),
		"health":           "--listen 127.0.0.1:1", "version": "", "incidents list": "", "runs export": "", "incidents export": "", "audit export": "", "incidents show": "1", "incidents ack": "1 --why planted",
		"pauses list": "--ended", "pauses add": "--job job-jwt --from 300d --until 301d --why planted", "pauses hold": "jwt --from 300d --until 301d --why planted", "pauses change": "1 --until 302d --why planted", "pauses end": "1 --why planted", "notify test": "hub", "keys generate": dir + "/new.pem",
	}
	beside := map[string]string{
		"serve": "runs above", "demo": "has a registry of its own", "conform": "has no registry", "access token": "prints the token that it makes",
		"backup": "prints names of files", "keys rotate": "takes no registry", "completion": "prints scripts", "import": "reads another scheduler's file", "init": "writes a registry of its own", "schema": "reads no registry", "runs follow": "has no end; it prints what runs list prints",
	}
	refused := map[string]bool{"export cloudformation": true, "export terraform": true, "keys generate": true} // files of secrets; a file that exists
	app := &command.Env{Lookup: func(string) (string, bool) { return "", false }}
	visit(cli.Root(app), func(c *cobra.Command) {
		name := strings.Join(strings.Fields(c.CommandPath())[1:], " ")
		line, listed := lines[name]
		if _, left := beside[strings.Fields(name + " -")[0]]; c.HasSubCommands() || left || beside[name] != "" {
			return
		}
		if !listed {
			t.Errorf("cronce %s is not among the commands whose output is searched for secrets", name)
		}
		for _, form := range []string{"", " --json"} {
			code, out, errs := invoke(t, vars, strings.Fields(name+" "+line+form)...)
			if code == exitUsage && !refused[name] {
				t.Errorf("cronce %s %s%s: exit %d: %s", name, line, form, code, errs)
			}
			text += out + errs
		}
	})
	return text
}
