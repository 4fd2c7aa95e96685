package schedule_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/schedule"
)

// embedded is the zip file of the embedded database.
func embedded(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("zoneinfo.zip.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

// everyZone lists the zones of the embedded database.
func everyZone(t *testing.T) []string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(embedded(t)), int64(len(embedded(t))))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "+VERSION" {
			names = append(names, f.Name)
		}
	}
	return names
}

// A new zoneinfo.zip.gz must come with its version, which is part of what a job's
// scheduled times depend on.
func TestZoneVersionBelongsToTheDatabase(t *testing.T) {
	const (
		version = "2026f"
		sum     = "c4c4f5338f15711e4ea4d9395474d1f16412fb0f0d2a10d44ee1414b9b4870b3"
	)
	data, err := os.ReadFile("zoneinfo.zip.gz")
	if err != nil {
		t.Fatal(err)
	}
	got := sha256.Sum256(data)
	if hex.EncodeToString(got[:]) != sum || schedule.ZoneVersion() != version {
		t.Errorf("database %x with version %s; scripts/build-zones makes it; renew both", got, schedule.ZoneVersion())
	}
	if got := schedule.ZonesReleased(); got != utc(t, "2026-10-27T00:00") {
		t.Errorf("released on %v", got)
	}
}

func TestEveryZoneLoads(t *testing.T) {
	names := everyZone(t)
	if len(names) < 400 {
		t.Fatalf("only %d zones", len(names))
	}
	for _, name := range names {
		s := parse(t, "0 12 * * *", name, "")
		if s.Location().String() != name {
			t.Errorf("%s is called %s", name, s.Location())
		}
		if at := s.Next(utc(t, "2026-11-21T00:00")); at.In(s.Location()).Hour() != 12 {
			t.Errorf("%s: noon is %v", name, at.In(s.Location()))
		}
	}
}

// The host's own zones play no part: replicas on other hosts must agree.
// forgedZone is a time zone file (TZif, RFC 9636) of no offset from UTC.
const forgedZone = "TZif\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00\x00\x04" +
	"\x00\x00\x00\x00\x00\x00" + "FAK\x00"

// The process is another one, because Go reads ZONEINFO once.
func TestZonesComeFromTheEmbeddedDatabaseAlone(t *testing.T) {
	if os.Getenv("ZONES_ARE_FORGED") == "" {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "America"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "America", "Panama"), []byte(forgedZone), 0o600); err != nil {
			t.Fatal(err)
		}
		again := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		again.Env = append(os.Environ(), "ZONES_ARE_FORGED=1", "ZONEINFO="+dir, "TZ=Asia/Tokyo")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s := parse(t, "0 12 * * *", "America/Panama", "")
	if got, want := s.Next(utc(t, "2026-11-21T00:00")), utc(t, "2026-11-21T17:00"); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if loc, err := time.LoadLocation("America/Panama"); err != nil || offsetIn(loc) != 0 {
		t.Errorf("the forged zone is not in the way: %v, %v", loc, err)
	}
}

func offsetIn(loc *time.Location) (offset int) {
	_, offset = time.Date(2026, 11, 21, 0, 0, 0, 0, loc).Zone()
	return offset
}

// Where a zone's rule is extrapolated every year, its leap days too.
func TestYearsEndsAfterTheLastTabledShift(t *testing.T) {
	for _, zone := range []string{"America/New_York", "Australia/Lord_Howe", "Europe/London"} {
		s := parse(t, "0 12 * * *", zone, "")
		at := time.Date(2096, 12, 20, 0, 0, 0, 0, time.UTC)
		for at = range s.Due(at, at.AddDate(0, 0, 30)) {
			if at.In(s.Location()).Hour() != 12 {
				t.Errorf("%s: %v", zone, at.In(s.Location()))
			}
		}
	}
}
