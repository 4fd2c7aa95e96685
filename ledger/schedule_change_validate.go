package ledger

import (
	"fmt"
	"strings"
)

// Validate returns ErrInvalidSchedule for what no schedule can be, and ErrInvalidActor.
func (c *ChangeSchedulesRequest) Validate() error {
	if err := c.Actor.Validate(); err != nil {
		return err
	}
	if n := len(c.Items); n < 1 || n > MaxScheduleChanges {
		return fmt.Errorf("%w: %d schedules at once; change 1 to %d", ErrInvalidSchedule, n, MaxScheduleChanges)
	}
	known := make(map[string]bool, len(c.Items))
	for i := range c.Items {
		in := &c.Items[i]
		switch id := in.JobID; {
		case !validScheduleID(id) || TemplateOf(id) != c.Template:
			return fmt.Errorf(`%w: ID %.100q; it must be the template's ID, of at most 32 characters, ":" and a key of 1 to 48 letters, `+
				`digits, ".", "_" and "-" that begins with a letter or digit`, ErrInvalidSchedule, id)
		case known[id]:
			return fmt.Errorf("%w: %s is in the list twice", ErrInvalidSchedule, id)
		case len(in.Data) > MaxScheduleData:
			return fmt.Errorf("%w: %s has %d bytes of data; the maximum is %d", ErrInvalidSchedule, id, len(in.Data), MaxScheduleData)
		case in.Until.Nanosecond() != 0:
			return fmt.Errorf("%w: until of %s has a fraction of a second", ErrInvalidSchedule, id)
		case in.Generation < 0:
			return fmt.Errorf("%w: generation %d of %s; it must be at least 1, or left out", ErrInvalidSchedule, in.Generation, id)
		}
		known[in.JobID] = true
	}
	return nil
}

func validScheduleID(id string) bool {
	template, key, _ := strings.Cut(id, ":")
	for i := range len(key) {
		c := key[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return template != "" && len(template) <= 32 && isPlainJobID(template) && key != "" && len(key) <= 48
}
