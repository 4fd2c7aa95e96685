//go:build unix

package cli_test

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// zoneFile writes a database of one zone, America/Panama, with one offset from UTC.
func zoneFile(t *testing.T, release string, offset int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "zoneinfo.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	archive := zip.NewWriter(f)
	// RFC 9636: of all counts, there are one type of local time and four characters.
	tzif := "TZif" + strings.Repeat("\x00", 16+16+3) + "\x01\x00\x00\x00\x04" +
		string(binary.BigEndian.AppendUint32(nil, uint32(offset))) + "\x00\x00FAK\x00"
	for _, entry := range [][2]string{{"+VERSION", release}, {"America/Panama", tzif}} {
		w, err := archive.Create(entry[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(entry[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNewerZonesOfTheOperator(t *testing.T) {
	t.Parallel()
	const next = `"$0" version && "$0" next --expr '0 12 * * *' --tz America/Panama --from 2026-11-21T00:00:00Z -n 1`
	for _, c := range []struct{ name, release, zones, noon string }{
		{"a newer file", "2099a 2099-01-20", "2099a", "2026-11-21T12:00:00Z"},
		{"an older file is left alone", "2024a 2024-02-01", schedule.ZoneVersion(), "2026-11-21T17:00:00Z"},
	} {
		code, out, errs := shell(t, []string{jobs.EnvZones + "=" + zoneFile(t, c.release, 0)}, next)
		if code != 0 || strings.Count(out, "time zones "+c.zones) != 2 || !strings.Contains(out, c.noon) {
			t.Errorf("%s: %d\n%s%s", c.name, code, out, errs)
		}
	}
	code, out, errs := shell(t, []string{jobs.EnvZones + "=" + zoneFile(t, "unknown", 0)}, next)
	if code != exitUsage || out != "" || !strings.Contains(errs, "CRONCE_ZONEINFO=/") || !strings.Contains(errs, "+VERSION is invalid") {
		t.Errorf("a bad file: %d\n%s%s", code, out, errs)
	}
	if code, _, errs := shell(t, []string{jobs.EnvZones + "=/no/such.zip"}, `"$0" --version`); code != exitUsage || !strings.Contains(errs, "CRONCE_ZONEINFO=/no/such.zip") {
		t.Errorf("no file: %d\n%s", code, errs)
	}
}

// What depends on the zones says that they are old; what does not is silent.
func TestOldZonesAreAWarning(t *testing.T) {
	t.Parallel()
	late := schedule.ZonesReleased().AddDate(1, 0, 1)
	const zoned = "name: acme\njobs:\n  - { id: a, schedule: '0 3 * * *', timezone: Europe/London, targetUrlEnv: A_URL, path: /a }\n"
	for _, c := range []struct {
		now  time.Time
		args string
		warn bool
	}{
		{late, "version", true},
		{late, "check --no-env", true},
		{late, "next a", true},
		{late, "next --expr @daily", false},
		{late.AddDate(0, 0, -1), "version", false},
		{late.AddDate(0, 0, -1), "check --no-env", false},
		{late.AddDate(0, 0, -1), "next a", false},
	} {
		var o, e strings.Builder
		args := append(strings.Fields(c.args), "--config", writeFile(t, zoned))
		code := runAt(t.Context(), args, streams{strings.NewReader(""), &o, &e}, func(string) (string, bool) { return "", false }, func() time.Time { return c.now })
		if warned := strings.Contains(e.String(), "more than a year ago"); code != 0 || warned != c.warn {
			t.Errorf("%s at %v: exit %d, warned %v\n%s", c.args, c.now, code, warned, e.String())
		}
	}
}

// A law puts Panama's clock forward by an hour, and its release comes between the new
// and the former time of today's run.
func TestNewZonesKeepTodaysRun(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		due := time.Now().UTC().Add(40 * time.Second).Truncate(time.Second)
		config := writeFile(t, fmt.Sprintf("name: test\njobs:\n  - { id: pay, schedule: '%d %d %d * * *', timezone: America/Panama, targetUrlEnv: SVC_URL, path: /pay }\n",
			due.Second(), due.Minute(), due.Hour()))
		serve := func(zones string) *process {
			p := spawn(t, []string{"SVC_URL=" + svc.URL, jobs.EnvZones + "=" + zones}, "serve", "--config", config, "--db", db, "--listen", "127.0.0.1:0")
			eventually(t, "ready", func() bool { status, _ := p.ask("/readyz"); return status == http.StatusOK })
			return p
		}
		p := serve(zoneFile(t, "2098a 2026-01-01", 0))
		eventually(t, "the job to begin", func() bool {
			_, out, _ := invoke(t, map[string]string{"SVC_URL": svc.URL}, "jobs", "show", "pay", "--json", "--config", config, "--db", db)
			return strings.Contains(out, `"watermark": "2`)
		})
		if code := p.Interrupt(); code != exitDone {
			t.Fatalf("exit %d", code)
		}
		p = serve(zoneFile(t, "2098b 2026-02-01", 3600))
		if time.Now().After(due) {
			t.Fatal("the machine is too slow for this test: it was not ready before the run was due")
		}
		run := "pay@" + due.Format(time.RFC3339)
		eventually(t, "the run of the former release", func() bool { return svc.of(run) == 1 })
		if late := time.Since(due); late > 5*time.Second {
			t.Errorf("called %v late", late)
		}
		eventually(t, "the switch", func() bool { return strings.Contains(p.Log.String(), "jobs switched to their current definitions") })
		if !strings.Contains(p.Log.String(), "new time zones used later") {
			t.Error("the log does not say that the job waits")
		}
		p.Interrupt()
		if calls, _ := svc.count(); calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}
