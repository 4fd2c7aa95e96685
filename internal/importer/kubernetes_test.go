package importer_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/importer"
)

// kubectl takes the manifest from a template whose quotes got lost; so do people.
func TestAManifestThatCannotBeReadSaysWhereAndWhy(t *testing.T) {
	const head = "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: tick\nspec:\n"
	for spec, want := range map[string]string{
		"  schedule: */5 * * * *\n":                  `cron.yaml:6:13: the schedule needs quotes, because * and @ have a meaning of their own in YAML; write schedule: "*/5 * * * *"`,
		"  schedule: */5,7 * * * 1-5 # in the day\n": `write schedule: "*/5,7 * * * 1-5"`,
		"  schedule: @daily\n":                       `cron.yaml:6:13: the schedule needs quotes`,
		"  suspend: *no\n":                           "cron.yaml:6: YAML aliases are not read",
		"  suspend: [\n":                             "not YAML",
	} {
		for _, text := range []string{head + spec, strings.ReplaceAll(head+spec, "\n", "\r\n")} {
			_, err := importer.Import(importer.Kubernetes, []importer.File{{Name: "cron.yaml", Data: []byte(text)}}, importer.Options{Name: "acme"})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", spec, err)
			}
		}
	}
}

// cronJob is a manifest with fields of the spec, of the job and of the container.
func cronJob(spec, job, container string) string {
	return `{kind: CronJob, metadata: {name: x}, spec: {schedule: "0 3 * * *", ` + spec + ` jobTemplate: {spec: {` + job + ` template: {spec: {containers: [{` + container + `}]}}}}}}`
}

func importCronJob(t *testing.T, manifest string) (string, error) {
	t.Helper()
	r, err := importer.Import(importer.Kubernetes, []importer.File{{Name: "cron.yaml", Data: []byte(manifest)}}, importer.Options{Name: "acme"})
	return text(r), err
}

// The entrypoint of curl's image runs an argument that is a command, and gives curl
// everything else.
func TestArgumentsOfCurlsImage(t *testing.T) {
	for args, want := range map[string]string{
		`["-X", "PUT", "https://x.example.com/a"]`:                       "method: PUT",
		`["https://x.example.com/a"]`:                                    "path: /a",
		`["x.example.com/a"]`:                                            "path: /a",
		`["localhost:8080"]`:                                             "path: /",
		`["$(URL)/a"]`:                                                   "path: /a",
		`["curl", "-X", "PUT", "https://x.example.com/a"]`:               "method: PUT",
		`["/usr/bin/curl", "-X", "PUT", "https://x.example.com/a"]`:      "method: PUT",
		`["sh", "-c", "curl -X PUT https://x.example.com/a"]`:            "method: PUT",
		`["/bin/sh", "-c", "curl -X PUT https://x.example.com/a"]`:       "method: PUT",
		`["/bin/sh", "-ec", "curl -X PUT https://x.example.com/a"]`:      "method: PUT",
		`["timeout", "9", "curl", "-X", "PUT", "https://x.example.com"]`: "timeout: 9s",
		`["env", "A=1", "curl", "-X", "PUT", "https://x.example.com/a"]`: "method: PUT",
		`["/bin/sh", "/scripts/run.sh"]`:                                 "not imported | x: the command is a shell script",
		`["echo", "hello"]`:                                              `not imported | x: the command "echo" is not curl or wget`,
		`["./run.sh"]`:                                                   `not imported | x: the command "run.sh" is not curl or wget`,
		`[]`:                                                             "not imported | x: ",
	} {
		got, err := importCronJob(t, cronJob("", "", `image: "curlimages/curl:8.9.1", args: `+args))
		if refused := strings.HasPrefix(want, "not imported"); !strings.Contains(got, want) || strings.Contains(got, "http://sh") || refused == (err == nil) {
			t.Errorf("%s: %v, want %s\n%s", args, err, want, got)
		}
	}
}

// An escape begins a word as well as it stands in one, and the end of a line ends a command.
func TestTheShellOfACronJob(t *testing.T) {
	const several = "not imported | x: the command line has several commands"
	for script, want := range map[string]string{
		`curl \\$URL/a`:                                                      "http://$URL",
		`curl https://x.example.com/a \\#a`:                                  "not imported",
		`curl https://x.example.com/a -d \\\"a\\\"`:                          "method: POST",
		`\n curl \\\n  -X PUT \\\n https://x.example.com/a\n`:                "method: PUT",
		`curl -X PUT https://x.example.com/a # why\n\n # more\n`:             "method: PUT",
		`curl -X PUT https://x.example.com/a; # why`:                         "method: PUT",
		`curl https://x.example.com/a\ncurl https://x.example.com/b`:         several,
		`curl https://x.example.com/a # first\ncurl https://x.example.com/b`: several,
		`curl https://x.example.com/a; curl https://x.example.com/b`:         several,
	} {
		got, err := importCronJob(t, cronJob("", "", `command: [sh, -c, "`+script+`"]`))
		if refused := strings.HasPrefix(want, "not imported"); !strings.Contains(got, want) || refused == (err == nil) {
			t.Errorf("%s: %v, want %s\n%s", script, err, want, got)
		}
	}
}

// A zero is a value, and not the field's default.
func TestZerosOfACronJob(t *testing.T) {
	curl := `command: [curl, "https://x.example.com/a"]`
	for _, c := range []struct{ spec, job, want, not string }{
		{"startingDeadlineSeconds: 0,", "", "catchUp: none", "without startingDeadlineSeconds"},
		{"startingDeadlineSeconds: 600,", "", "catchUpWindow: 10m", "catchUp: none"},
		{"", "", "without startingDeadlineSeconds", "catchUp: none"},
		{"", "activeDeadlineSeconds: 0,", "activeDeadlineSeconds 0: Kubernetes ends each pod at once", "timeout: 0"},
		{"", "parallelism: 0,", "enabled: false", "cronce makes one call per scheduled time"},
		{"", "completions: 0,", "enabled: false", "cronce makes one call per scheduled time"},
		{"", "completions: 1, parallelism: 1,", "method: GET", "enabled: false"},
		{"suspend: true,", "parallelism: 1,", "enabled: false", "starts no pod"},
		{"", "backoffLimit: 0,", "retry: { backoff: [] }", "backoffLimit 6"},
	} {
		got, err := importCronJob(t, cronJob(c.spec, c.job, curl))
		if err != nil || !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s%s: %v, want %q and not %q\n%s", c.spec, c.job, err, c.want, c.not, got)
		}
	}
}

// A lock in a pod is about the pod's own files.
func TestFlockInAPodIsNotTheJobsOverlap(t *testing.T) {
	got, err := importCronJob(t, cronJob("concurrencyPolicy: Forbid,", "", `command: [flock, /tmp/l, curl, "https://x.example.com/a"]`))
	if err != nil || strings.Contains(got, "overlap: queue") || !strings.Contains(got, "flock in a pod") {
		t.Errorf("%v\n%s", err, got)
	}
}

// The deadlines of a job and of its pod end the call, whichever is first.
func TestTheDeadlinesOfJobAndPodAreTheTimeout(t *testing.T) {
	for job, want := range map[string]string{"": "timeout: 40s", "activeDeadlineSeconds: 90,": "timeout: 40s", "activeDeadlineSeconds: 20,": "timeout: 20s"} {
		manifest := cronJob("", job, `command: [curl, "https://x.example.com/a"]`)
		got, err := importCronJob(t, strings.Replace(manifest, "containers:", "activeDeadlineSeconds: 40, containers:", 1))
		if err != nil || !strings.Contains(got, want) || strings.Contains(got, "no time limit") {
			t.Errorf("%s: %v, want %s\n%s", job, err, want, got)
		}
	}
}

// The controller starts the latest time that Forbid held back once the running pod ends.
func TestThatForbidRunsLateIsTold(t *testing.T) {
	got, err := importCronJob(t, cronJob("concurrencyPolicy: Forbid,", "", `command: [curl, "https://x.example.com/a"]`))
	if want := "x | overlap | concurrencyPolicy Forbid starts the latest time that it held back"; err != nil || !strings.Contains(got, want) {
		t.Errorf("%v: no %q in\n%s", err, want, got)
	}
}

// Kubernetes puts the values of variables above into the value of a variable. What it does not know stays.
func TestValuesOfACronJobThatReferToOthers(t *testing.T) {
	const env = `{name: A, value: a}, {name: API_TOKEN, value: hunter2}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}, `
	for value, want := range map[string]string{
		"$(A)/$(A)":           "/v1/a/a/x",
		"$$(A)":               "/v1/$%28A%29/x",
		"$$$(A)":              "/v1/$a/x",
		"$(B)$(LATE)":         "/v1/$%28B%29$%28LATE%29/x",
		"$(A":                 "/v1/$%28A/x",
		"$(S)":                "the URL is made of variables",
		"$(API_TOKEN)":        "the URL is made of variables",
		"$(API_SERVICE_HOST)": "the URL is made of variables",
	} {
		got, _ := importCronJob(t, cronJob("", "", `command: [curl, "https://x.example.com/v1/$(B)/x"], env: [`+env+`{name: B, value: "`+value+`"}, {name: LATE, value: late}]`))
		if !strings.Contains(strings.NewReplacer("(", "%28", ")", "%29").Replace(got), want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: want %s\n%s", value, want, got)
		}
	}
	for _, more := range []string{`env: [` + env + `{name: B, value: "http://$(S)"}]`, `env: [{name: B, value: "http://$(HOST)"}], envFrom: [{secretRef: {name: s}}]`} {
		got, err := importCronJob(t, cronJob("", "", `command: [curl, "$(B)/x"], `+more))
		if err != nil || !strings.Contains(got, "urlEnv: B") {
			t.Errorf("%s: %v\n%s", more, err, got)
		}
	}
}
