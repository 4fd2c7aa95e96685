//go:build unix

package cli_test

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ask returns the status and the text of what a process answers.
func (p *process) ask(path string) (status int, text string) {
	p.t.Helper()
	res, err := http.Get("http://" + p.address() + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// While a process stops it is not ready, and answers everybody else as before: a client
// that waits for its run is told how the run ended.
func TestTheAPIAnswersUntilTheDrainEnds(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	hang := make(chan struct{})
	svc.set(hang)
	config := writeFile(t, strings.Replace(everySecond, `"* * * * * *"`, `"0 0 1 1 *"`, 1))
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "127.0.0.1:0")
	eventually(t, "the process to be ready", func() bool { status, _ := p.ask("/readyz"); return status == http.StatusOK })
	trigger := spawn(t, []string{"CRONCE_SERVER=http://" + p.address(), "USER=ann"}, "trigger", "tick")
	eventually(t, "a call under way", func() bool { n, _ := svc.count(); return n > 0 })
	p.signal(syscall.SIGTERM)
	eventually(t, "the stop to be logged", func() bool { return strings.Contains(p.Log.String(), "signal=terminated") })
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/readyz": {http.StatusServiceUnavailable, "stopping"}, "/healthz": {http.StatusOK, "ok"}, "/metrics": {http.StatusOK, `cronce_unfinished_runs{state="running"} 1`},
		"/v1/status": {http.StatusOK, `"processes"`}, "/v1/runs": {http.StatusOK, `"running"`}, "/": {http.StatusOK, "<html"},
	} {
		if status, text := p.ask(path); status != want.status || !strings.Contains(text, want.text) {
			t.Errorf("%s during the stop: %d, want %d with %q: %s", path, status, want.status, want.text, text)
		}
	}
	close(hang)
	if code := trigger.Wait(); code != exitDone || !strings.Contains(trigger.Log.String(), "succeeded") {
		t.Errorf("trigger, exit %d: %s", code, trigger.Log)
	}
	stopping := time.Now()
	if code := p.Wait(); code != exitDone || strings.Contains(p.Log.String(), "level=ERROR") || !strings.Contains(p.Log.String(), "msg=stopped") {
		t.Errorf("serve, exit %d: %s", code, p.Log)
	}
	if took := time.Since(stopping); took > 10*time.Second {
		t.Errorf("the stop took %s after its last run", took)
	}
}

// A server that goes before the run has ended leaves the client with the run's name.
func TestATriggerWhoseServerGoesNamesItsRun(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	hang := make(chan struct{})
	defer close(hang)
	svc.set(hang)
	config := writeFile(t, strings.Replace(everySecond, `"* * * * * *"`, `"0 0 1 1 *"`, 1))
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "127.0.0.1:0")
	trigger := spawn(t, []string{"CRONCE_SERVER=http://" + p.address(), "USER=ann"}, "trigger", "tick")
	eventually(t, "a call under way", func() bool { n, _ := svc.count(); return n > 0 })
	p.Kill()
	if code, text := trigger.Wait(), trigger.Log.String(); code != exitFailed || !strings.Contains(text, "cronce runs show "+svc.first()) {
		t.Errorf("exit %d: %s", code, text)
	}
}
