package schedule_test

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cronce/cronce/schedule"
)

// zipped makes a zip file of entries: name, content, name, content...
func zipped(t *testing.T, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: entries[i]}) // not compressed
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(entries[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUseZonesRefusesADamagedFile(t *testing.T) {
	whole := zipped(t, "+VERSION", "2099a 2099-01-20\n", "Etc/Fake", forgedZone)
	flipped := bytes.Replace(whole, []byte("FAK"), []byte("FAQ"), 1)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "not a zip file of time zones"},
		{"cut short", whole[:len(whole)-10], "not a zip file of time zones"},
		{"the zip of Go", zipped(t, "Etc/Fake", forgedZone), "has no entry +VERSION"},
		{"no date", zipped(t, "+VERSION", "2099a"), "its entry +VERSION is invalid"},
		{"no release", zipped(t, "+VERSION", "newest 2099-01-20"), "its entry +VERSION is invalid"},
		{"no zone", zipped(t, "+VERSION", "2099a 2099-01-20", "Etc/Fake", "GMT"), "the time zone Etc/Fake is damaged"},
		{"gzip of nothing", []byte("\x1f\x8bnothing"), "cannot be decompressed"},
		{"a flipped bit", flipped, "the entry Etc/Fake cannot be read"},
	} {
		used, err := schedule.UseZones(c.file)
		if used || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: used %v, error %v, want %q", c.name, used, err, c.want)
		}
	}
}

// A file that was left behind by an operator must not undo an upgrade of the program.
func TestUseZonesKeepsTheNewerRelease(t *testing.T) {
	for _, release := range []string{"2025c 2025-12-10", schedule.ZoneVersion() + " 2026-10-27"} {
		used, err := schedule.UseZones(zipped(t, "+VERSION", release, "Etc/Fake", forgedZone))
		if used || err != nil {
			t.Errorf("%s: used %v, %v", release, used, err)
		}
	}
	parse(t, "0 12 * * *", "Europe/London", "")
}

// The process is another one, because it has one database.
func TestUseZonesReplacesTheDatabase(t *testing.T) {
	if os.Getenv("ZONES_ARE_REPLACED") == "" {
		again := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		again.Env = append(os.Environ(), "ZONES_ARE_REPLACED=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	used, err := schedule.UseZones(zipped(t, "+VERSION", "2099za 2099-01-20\n", "America/Panama", forgedZone))
	if !used || err != nil {
		t.Fatalf("used %v, %v", used, err)
	}
	if schedule.ZoneVersion() != "2099za" || schedule.ZonesReleased() != utc(t, "2099-01-20T00:00") {
		t.Errorf("release %s of %v", schedule.ZoneVersion(), schedule.ZonesReleased())
	}
	if got, want := parse(t, "0 12 * * *", "America/Panama", "").Next(utc(t, "2026-11-21T00:00")), utc(t, "2026-11-21T12:00"); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := schedule.Parse("0 12 * * *", "Europe/London", ""); err == nil || !strings.Contains(err.Error(), "(2099za)") {
		t.Errorf("a zone that the file does not have: %v", err)
	}
}
