package suggest

import (
	"fmt"
	"regexp"
	"strings"
)

// bareSchedule matches a schedule that YAML does not read as text: * begins an alias,
// and @ is reserved.
var bareSchedule = regexp.MustCompile(`^\s*(?:-\s+)?(\{.*?)?["']?schedule["']?\s*:\s*([*@].*)`)

// ScheduleQuotes explains a syntax error on a line of YAML with a schedule that lacks its
// quotes. The message is empty for other lines. The column is that of the schedule,
// from 1.
func ScheduleQuotes(line string) (message string, column int) {
	found := bareSchedule.FindStringSubmatchIndex(line)
	if found == nil {
		return "", 0
	}
	before, value := line[:found[4]], line[found[4]:]
	if inBraces := found[2] >= 0; inBraces {
		value, _, _ = strings.Cut(value, ",")
		value, _, _ = strings.Cut(value, "}")
	}
	value, _, _ = strings.Cut(value, " #")
	return fmt.Sprintf("the schedule needs quotes, because * and @ have a meaning of their own in YAML; write schedule: %.80q",
		strings.TrimSpace(value)), len([]rune(before)) + 1
}
