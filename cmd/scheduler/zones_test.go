//go:build unix

package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// zoneFile writes a database of one zone, America/Panama, whose clock shows UTC.
func zoneFile(t *testing.T, release string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "zoneinfo.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	archive := zip.NewWriter(f)
	tzif := "TZif" + strings.Repeat("\x00", 16+16+3) + "\x01\x00\x00\x00\x04" + strings.Repeat("\x00", 6) + "FAK\x00" // RFC 9636
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
		code, out, errs := shell(t, []string{jobs.EnvZones + "=" + zoneFile(t, c.release)}, next)
		if code != 0 || strings.Count(out, "time zones "+c.zones) != 2 || !strings.Contains(out, c.noon) {
			t.Errorf("%s: %d\n%s%s", c.name, code, out, errs)
		}
	}
	code, out, errs := shell(t, []string{jobs.EnvZones + "=" + zoneFile(t, "unknown")}, next)
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
