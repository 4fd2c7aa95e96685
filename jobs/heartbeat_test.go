package jobs_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
)

func beating(beat string) string {
	return "version: 1\nname: acme\njobs:\n  - { id: a, schedule: \"* * * * *\", targetUrlEnv: SVC, path: /a" + beat + " }\n"
}

func parsed(t *testing.T, text string) *jobs.Registry {
	t.Helper()
	r, err := jobs.Parse("cronce.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAJobsHeartbeatIsReadAndChecked(t *testing.T) {
	r := parsed(t, beating(", heartbeat: { urlEnv: HC_A }"))
	a, _ := r.Job("a")
	if a.HeartbeatURLEnv != "HC_A" || a.HeartbeatJobID() != "heartbeat-a" {
		t.Errorf("job %+v", a)
	}
	if target, has := r.Target(a.HeartbeatTarget()); !has || target.URLEnv != "HC_A" {
		t.Errorf("target %+v", target)
	}
	problems := r.CheckEnv(func(name string) (string, bool) { return "http://127.0.0.1:1", name == "SVC" })
	if len(problems) != 1 || problems[0].Code != jobs.CodeUnsetVariable || problems[0].Job != "a" || problems[0].Line != 4 {
		t.Errorf("problems %+v, want that HC_A is not set", problems)
	}
	off := parsed(t, beating(", enabled: false, heartbeat: { urlEnv: HC_A }"))
	if problems := off.CheckEnv(func(string) (string, bool) { return "", false }); len(problems) > 0 {
		t.Errorf("of a disabled job: %v", problems)
	}
}

func TestWrongHeartbeatsOfJobsAreRefused(t *testing.T) {
	long := strings.Repeat("x", 55)
	for text, want := range map[string]string{
		beating(", heartbeat: { urlEnv: \"https://hc-ping.com/x\" }"):                                                           "not shown",
		beating(", heartbeat: {}"):                                                                                              "urlEnv",
		beating(", heartbeat: { urlEnv: HC, every: 1m }"):                                                                       "every",
		strings.Replace(beating(", heartbeat: { urlEnv: HC }"), "id: a", "id: "+long, 1):                                        "at most 54 characters",
		beating(", heartbeat: { urlEnv: HC }") + "  - { id: heartbeat-a, schedule: \"@daily\", targetUrlEnv: SVC, path: /b }\n": `job "heartbeat-a", which the registry has too`,
	} {
		if _, err := jobs.Parse("cronce.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
