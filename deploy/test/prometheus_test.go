package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/cronce/cronce/deploy/test/bed"
)

func TestPrometheusRules(t *testing.T) {
	promtool := bed.Tool(t, "promtool")
	bed.Run(t, nil, promtool, "check", "rules", "deploy/prometheus/cronce.rules.yaml")
	bed.Run(t, nil, promtool, "test", "rules", "deploy/prometheus/cronce.rules.test.yaml")
	bed.Run(t, nil, promtool, "check", "config", "--syntax-only", "deploy/compose/prometheus.yaml")
}

// quiet are metrics that appear with their first event only, and that nothing
// provokes here. The manual has them.
var quiet = []string{
	"cronce_ledger_errors_total", "cronce_records_fenced_total",
	"cronce_purged_keys_total", "cronce_purged_runs_total", "cronce_purge_left", "cronce_purge_failures_total",
}

var metricName = regexp.MustCompile(`\bcronce_[a-z0-9_]+`)

// Every query of the dashboard and of the rules is evaluated by a Prometheus that
// scrapes a serve, and has a result there.
func TestEveryQueryHasAResult(t *testing.T) {
	prometheus := newPrometheus(t, serving(t))
	manual := string(bed.Read(t, "docs/operations.md"))
	for title, query := range queries(t) {
		silent := false
		for _, name := range metricName.FindAllString(query, -1) {
			if slices.Contains(quiet, name) {
				silent = true
				if !strings.Contains(manual, name) {
					t.Errorf("%s: the manual has no %s", title, name)
				}
			}
		}
		bed.Eventually(t, fmt.Sprintf("a result of %s: %s", title, query), func() bool {
			n := prometheus.results(t, query)
			return n > 0 || silent
		})
	}
}

// queries are those of the dashboard and the rules, without the conditions on what
// is not so: a threshold is taken away, that the rest has a result.
func queries(t *testing.T) map[string]string {
	all := map[string]string{}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	bed.Must(t, json.Unmarshal(bed.Read(t, "deploy/grafana/cronce.json"), &board))
	variables := strings.NewReplacer("$__rate_interval", "10s", "$__range", "1m", "$instance", ".*", "$job", ".*")
	for _, p := range board.Panels {
		for i, target := range p.Targets {
			all[fmt.Sprintf("panel %q, query %d", p.Title, i+1)] = variables.Replace(target.Expr)
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Record, Expr string }
		}
	}
	bed.Must(t, yaml.Unmarshal(bed.Read(t, "deploy/prometheus/cronce.rules.yaml"), &rules))
	threshold := regexp.MustCompile(`\s(>|==) [0-9.]+$`)
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if strings.HasPrefix(r.Expr, "absent") {
				continue // promtool has tested it; it has no result while a process answers
			}
			all["rule "+r.Alert+r.Record] = threshold.ReplaceAllString(strings.TrimSpace(r.Expr), "")
		}
	}
	if len(all) < 30 {
		t.Fatalf("%d queries found", len(all))
	}
	return all
}

const story = `version: 1
name: metrics
jobs:
  - { id: good, schedule: "* * * * * *", targetUrlEnv: GOOD_URL, path: /good }
  - { id: refused, schedule: "* * * * * *", targetUrlEnv: GOOD_URL, path: /refused, overlap: allow }
  - { id: failing, schedule: "* * * * * *", targetUrlEnv: GOOD_URL, path: /failing, overlap: allow }
  - { id: report, targetUrlEnv: GOOD_URL, path: "/report/{{key}}", keyed: { max: 10 } }
`

// serving starts a serve whose calls succeed and die, and returns its address.
func serving(t *testing.T) string {
	t.Helper()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/refused":
			w.WriteHeader(http.StatusBadRequest)
		case "/failing":
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(target.Close)
	dir, address := t.TempDir(), freeAddress(t)
	config := filepath.Join(dir, "cronce.yaml")
	bed.Must(t, os.WriteFile(config, []byte(story), 0o600))
	start(t, []string{"GOOD_URL=" + target.URL}, bed.Binary(t), "serve", "--config", config, "--db", "sqlite:"+filepath.Join(dir, "l.db"), "--listen", address)
	bed.Eventually(t, "serve to be ready", func() bool { return status("http://"+address+"/readyz") == http.StatusOK })
	bed.Run(t, nil, bed.Binary(t), "schedules", "put", "report", "acme", "--in", "48h", "--server", "http://"+address)
	return address
}

// prometheus is a server of it.
type prometheus struct{ address string }

func newPrometheus(t *testing.T, scraped string) prometheus {
	t.Helper()
	bed.Tool(t, "promtool") // its package has the server
	dir, p := t.TempDir(), prometheus{freeAddress(t)}
	config := filepath.Join(dir, "prometheus.yaml")
	bed.Must(t, os.WriteFile(config, []byte("global: { scrape_interval: 1s }\nscrape_configs: [ { job_name: cronce, static_configs: [ { targets: ['"+scraped+"'] } ] } ]\n"), 0o600))
	start(t, nil, "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+p.address)
	bed.Eventually(t, "Prometheus to be ready", func() bool { return status("http://"+p.address+"/-/ready") == http.StatusOK })
	return p
}

// results counts the series in the query's result.
func (p prometheus) results(t *testing.T, query string) int {
	t.Helper()
	answer, err := http.Get("http://" + p.address + "/api/v1/query?query=" + url.QueryEscape(query))
	bed.Must(t, err)
	defer answer.Body.Close()
	var body struct {
		Error string
		Data  struct{ Result []json.RawMessage }
	}
	bed.Must(t, json.NewDecoder(answer.Body).Decode(&body))
	if body.Error != "" {
		t.Fatalf("%s: %s", query, body.Error)
	}
	return len(body.Data.Result)
}

func status(url string) int {
	answer, err := http.Get(url)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	bed.Must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// start runs a command until the test ends, and shows what it printed if the test
// failed.
func start(t *testing.T, env []string, command ...string) {
	t.Helper()
	var out bytes.Buffer
	c := exec.Command(command[0], command[1:]...)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), env...), &out, &out
	bed.Must(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		http.DefaultClient.CloseIdleConnections()
		if t.Failed() {
			t.Logf("%v printed:\n%s", command, out.String())
		}
	})
}
