package jobs

import (
	"fmt"
	"os"
	"time"

	"github.com/cronce/cronce/schedule"
)

// EnvZones is the variable that names a file with a newer time zone database than the
// embedded one.
const EnvZones = "CRONCE_ZONEINFO"

// UseZones makes the program use the database of the file that EnvZones names, if it is
// newer than the embedded one: see [schedule.UseZones]. Call it before a registry is
// read. The error names the variable.
func UseZones(lookup func(string) (string, bool)) error {
	file, set := lookup(EnvZones)
	if !set {
		return nil
	}
	archive, err := os.ReadFile(file)
	if err == nil {
		_, err = schedule.UseZones(archive)
	}
	if err != nil {
		return fmt.Errorf("%s=%s: %w", EnvZones, file, err)
	}
	return nil
}

// ZonesWarning says that the time zone database is more than a year old; "" if it is not.
func ZonesWarning(now time.Time) string {
	released := schedule.ZonesReleased()
	if !now.After(released.AddDate(1, 0, 0)) {
		return ""
	}
	return fmt.Sprintf("the time zone database %s was released on %s, more than a year ago. Scheduled times are wrong "+
		"where a law has changed since. Upgrade cronce, or set %s to a newer file (docs/schedules.md#zones)",
		schedule.ZoneVersion(), released.Format(time.DateOnly), EnvZones)
}
