package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const exportable = `version: 1
name: acme
jobs:
  - { id: hourly, schedule: "0 * * * *", targetUrlEnv: SVC_URL, path: /hourly }
`

func TestExportPrintsATemplate(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--tick"}} {
		code, out, errs := invoke(t, nil, append([]string{"export", "cloudformation", "--config", writeFile(t, exportable)}, flags...)...)
		var template struct{ Resources map[string]any }
		if err := json.Unmarshal([]byte(out), &template); code != 0 || err != nil {
			t.Fatalf("exit %d, %v: %s", code, err, errs)
		}
		want := "JobHourly"
		if flags != nil {
			want = "Tick"
		}
		if template.Resources[want] == nil {
			t.Errorf("no resource %s in %s", want, out)
		}
	}
}

// CloudFormation refuses a large template that comes without a bucket.
func TestExportSaysWhenATemplateNeedsABucket(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{20: false, 80: true} {
		var registry strings.Builder
		registry.WriteString(exportable)
		for i := range n {
			fmt.Fprintf(&registry, "  - { id: job-%d, schedule: \"0 * * * *\", targetUrlEnv: SVC_URL, path: /%d }\n", i, i)
		}
		code, out, errs := invoke(t, nil, "export", "cloudformation", "--config", writeFile(t, registry.String()))
		if code != 0 || strings.Contains(errs, "--s3-bucket") != want || (len(out) > 51200) != want || !json.Valid([]byte(out)) {
			t.Errorf("%d jobs: exit %d, %d bytes, %q", n, code, len(out), errs)
		}
	}
}

func TestExportRefusesByName(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ registry, want string }{
		"seconds":                     {strings.Replace(exportable, "0 * * * *", "*/10 * * * * *", 1), `job "hourly" (*/10 * * * * *): AWS has no seconds`},
		"a key that dies too soon":    {exportable + "keyTTLs: [ { scope: \"route:POST_/hourly\", ttl: 1h } ]\n", `keys of "route:POST_/hourly" live 1h`},
		"dst: once where clocks turn": {strings.Replace(exportable, "path:", "timezone: Europe/London, path:", 1), "write dst: skip"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := invoke(t, nil, "export", "cloudformation", "--stateless", "--config", writeFile(t, tc.registry))
			if code != exitUsage || out != "" || !strings.Contains(errs, tc.want) {
				t.Errorf("exit %d, %q: %s", code, out, errs)
			}
		})
	}
}

// A registry with a job that AWS cannot express is exported, and it is said what
// becomes of that job.
func TestExportSaysWhatTheTickDrives(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		writeFile(t, strings.Replace(exportable, "0 * * * *", "rate(7 minutes)", 1)): `the tick drives job "hourly" (rate(7 minutes)) once a minute: AWS counts a rate from the deployment`,
		"../../examples/cronce.yaml": `the tick drives job "release-commission-locks"`,
	} {
		code, out, errs := invoke(t, nil, "export", "cloudformation", "--config", file)
		if code != 0 || !json.Valid([]byte(out)) || !strings.Contains(errs, want) {
			t.Errorf("exit %d: %s", code, errs)
		}
	}
}
