package schedule

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/suggest"
)

// The time zone database is part of the program, so that every replica and the
// Lambda compute the same scheduled times whatever the host has in /usr/share. How to
// update it: docs/decisions/0008-embedded-time-zones.md.
//
//go:embed zoneinfo.zip.gz
var zoneArchive []byte

// zoneDatabase is one release of the IANA time zones.
type zoneDatabase struct {
	version  string
	released time.Time            // what it has no rule for after that is not expected to shift
	files    map[string]*zip.File // by zone name
	zones    sync.Map             // each zone that was asked for: name to *zone
}

// currentZones returns the database that every schedule of the process uses.
var currentZones = sync.OnceValue(func() *zoneDatabase {
	db, err := openZones(zoneArchive)
	if err != nil {
		panic("the embedded time zone database is damaged: " + err.Error())
	}
	return db
})

// ZoneVersion returns the release of the time zone database, such as "2026f". Another
// release may put a zone's scheduled times elsewhere.
func ZoneVersion() string { return currentZones().version }

// ZonesReleased returns the day on which that release came out.
func ZonesReleased() time.Time { return currentZones().released }

// UseZones replaces the embedded time zone database by a newer one: a file that
// scripts/build-zones makes. It reports false, and changes nothing, for a release that
// is not newer than the embedded one. Call it before all other functions of the package, and
// not concurrently. The error says what is wrong with the file.
func UseZones(archive []byte) (used bool, err error) {
	db, err := openZones(archive)
	if err != nil {
		return false, err
	}
	for name := range db.files {
		if _, err := db.read(name); err != nil {
			return false, err
		}
	}
	if db.version <= ZoneVersion() {
		return false, nil
	}
	currentZones = func() *zoneDatabase { return db }
	return true, nil
}

// zoneRelease names the entry of an archive that has its release and the day of that:
// "2026f 2026-10-27".
const zoneRelease = "+VERSION"

var zoneVersion = regexp.MustCompile(`^20\d\d[a-z]{1,2}$`)

// openZones reads a zip file of zones. It may be compressed by gzip as a whole, which is half
// as long as the compression of each zone by itself.
func openZones(data []byte) (*zoneDatabase, error) {
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		var err error
		if data, err = unzip(data); err != nil {
			return nil, fmt.Errorf("cannot be decompressed: %w; make the file with scripts/build-zones", err)
		}
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("not a zip file of time zones: %w; make one with scripts/build-zones", err)
	}
	db := &zoneDatabase{files: make(map[string]*zip.File, len(archive.File))}
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") {
			db.files[f.Name] = f
		}
	}
	f, ok := db.files[zoneRelease]
	if !ok {
		return nil, fmt.Errorf("has no entry %s with its release and date; make the file with scripts/build-zones", zoneRelease)
	}
	delete(db.files, zoneRelease)
	text, err := readEntry(f)
	if err != nil {
		return nil, err
	}
	var day string
	db.version, day, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
	if db.released, err = time.Parse(time.DateOnly, day); err != nil || !zoneVersion.MatchString(db.version) {
		return nil, fmt.Errorf("its entry %s is invalid: %.40q; write the release and its date, e.g. 2026f 2026-10-27", zoneRelease, text)
	}
	return db, nil
}

// maxZones is more than all zones have; those of 2026 have 404 kB.
const maxZones = 16 << 20

func unzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxZones))
}

// maxZoneFile is more than any zone's file has; the largest of 2026 has 3 kB.
const maxZoneFile = 1 << 20

func readEntry(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("the entry %s cannot be read: %w", f.Name, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxZoneFile))
	if err != nil {
		return nil, fmt.Errorf("the entry %s cannot be read: %w", f.Name, err)
	}
	return data, nil
}

// Zone returns a time zone by its name in the IANA database.
func Zone(name string) (*time.Location, error) {
	z, err := loadZone(name)
	if err != nil {
		return nil, err
	}
	return z.loc, nil
}

// loadZone returns the zone of an IANA name from the current database. Its
// errors say what to write instead.
func loadZone(name string) (*zone, error) {
	db := currentZones()
	if z, ok := db.zones.Load(name); ok {
		return z.(*zone), nil
	}
	loc, err := db.read(name)
	if err != nil {
		return nil, err
	}
	z, _ := db.zones.LoadOrStore(name, newZone(loc))
	return z.(*zone), nil
}

func (db *zoneDatabase) read(name string) (*time.Location, error) {
	if name == "UTC" {
		return time.UTC, nil
	}
	f, ok := db.files[name]
	if !ok {
		return nil, db.unknownZone(name)
	}
	data, err := readEntry(f)
	if err != nil {
		return nil, err
	}
	loc, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		return nil, fmt.Errorf("the time zone %s is damaged: %w", name, err)
	}
	return loc, nil
}

func (db *zoneDatabase) unknownZone(name string) error {
	if strings.EqualFold(name, "local") {
		return errors.New("differs from host to host; use an IANA name, e.g. Europe/London, or UTC")
	}
	known := slices.Sorted(maps.Keys(db.files))
	return fmt.Errorf("not in the time zone database (%s)%s", db.version,
		cmp.Or(suggest.DidYouMean(name, known), "; use an IANA name, e.g. Europe/London, or UTC"))
}
