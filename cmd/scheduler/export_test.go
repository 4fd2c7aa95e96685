package main

import (
	"encoding/json"
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

func TestExportRefusesByName(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ registry, want string }{
		"seconds":                     {strings.Replace(exportable, "0 * * * *", "*/10 * * * * *", 1), `job "hourly" (*/10 * * * * *): AWS has no seconds`},
		"a key that dies too soon":    {exportable + "keyTTLs: [ { scope: \"route:POST_/hourly\", ttl: 1h } ]\n", `keys of "route:POST_/hourly" live 1h`},
		"dst: once where clocks turn": {strings.Replace(exportable, "path:", "timezone: Europe/London, path:", 1), "write dst: skip"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := invoke(t, nil, "export", "cloudformation", "--config", writeFile(t, tc.registry))
			if code != exitUsage || out != "" || !strings.Contains(errs, tc.want) {
				t.Errorf("exit %d, %q: %s", code, out, errs)
			}
		})
	}
}
