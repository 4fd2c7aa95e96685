package schedule

import (
	"archive/zip"
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
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
//go:embed zoneinfo.zip
var zoneArchive []byte

// zoneVersion is the IANA release in zoneinfo.zip; a test ties the two.
const zoneVersion = "2025c"

// zoneReleased is when that release came out, 2025-12-10: what it has no rule
// for after that is not expected to shift.
const zoneReleased = 1765324800

// ZoneVersion returns the release of the embedded time zone database, such as
// "2025c". Another release may put a zone's scheduled times elsewhere.
func ZoneVersion() string { return zoneVersion }

// zoneFiles are the archive's entries by zone name.
var zoneFiles = sync.OnceValue(func() map[string]*zip.File {
	archive, err := zip.NewReader(bytes.NewReader(zoneArchive), int64(len(zoneArchive)))
	if err != nil {
		panic("the embedded time zone database is damaged: " + err.Error())
	}
	files := make(map[string]*zip.File, len(archive.File))
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") {
			files[f.Name] = f
		}
	}
	return files
})

// zones holds each zone that was asked for: name to *zone.
var zones sync.Map

// loadZone returns the zone of an IANA name from the embedded database. Its
// errors say what to write instead.
func loadZone(name string) (*zone, error) {
	if z, ok := zones.Load(name); ok {
		return z.(*zone), nil
	}
	loc, err := readZone(name)
	if err != nil {
		return nil, err
	}
	z, _ := zones.LoadOrStore(name, newZone(loc))
	return z.(*zone), nil
}

func readZone(name string) (*time.Location, error) {
	if name == "UTC" {
		return time.UTC, nil
	}
	f, ok := zoneFiles()[name]
	if !ok {
		return nil, unknownZone(name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("the embedded time zone %s cannot be read: %w", name, err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("the embedded time zone %s cannot be read: %w", name, err)
	}
	return time.LoadLocationFromTZData(name, data)
}

func unknownZone(name string) error {
	if strings.EqualFold(name, "local") {
		return errors.New("differs from host to host; use an IANA name, e.g. Europe/London, or UTC")
	}
	known := slices.Sorted(maps.Keys(zoneFiles()))
	return fmt.Errorf("not in the time zone database (%s)%s", zoneVersion,
		cmp.Or(suggest.DidYouMean(name, known), "; use an IANA name, e.g. Europe/London, or UTC"))
}
