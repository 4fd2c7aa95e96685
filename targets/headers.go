package targets

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/executor"
)

// sendBeforeLayout is RFC 3339 with milliseconds. Cutting off the rest makes
// the time earlier, never later: the target refuses no later than we do.
const sendBeforeLayout = "2006-01-02T15:04:05.000Z07:00"

// setHeaders sets the fields that tell a target which run this is. The key is
// sent bare, as Stripe's clients do; a run-id needs no quoting.
func setHeaders(h http.Header, c executor.Call) {
	h.Set("Idempotency-Key", c.RunID)
	h.Set("Cronce-Registry", c.Registry)
	h.Set("Cronce-Run-Id", c.RunID)
	h.Set("Cronce-Job-Id", c.JobID)
	h.Set("Cronce-Scheduled-At", c.ScheduledAt.UTC().Format(time.RFC3339))
	h.Set("Cronce-Attempt", strconv.Itoa(c.Attempt))
	h.Del("Cronce-Send-Before")
	if !c.SendBefore.IsZero() {
		h.Set("Cronce-Send-Before", c.SendBefore.UTC().Format(sendBeforeLayout))
	}
	h.Del("Authorization")
	h.Del("Content-Type")
	if len(c.Call.Body) > 0 {
		h.Set("Content-Type", "application/json")
	}
}

// malformed says why a call's identity cannot stand in header fields, or "".
// Registries and ledgers allow no such ids; a row changed by hand could.
func malformed(c executor.Call) string {
	for _, id := range []struct{ what, value string }{
		{"run-id", c.RunID}, {"job id", c.JobID}, {"registry's name", c.Registry},
	} {
		if len(id.value) > 128 || !visible(id.value) {
			return "the " + id.what + " is not 1 to 128 visible ASCII characters"
		}
	}
	return ""
}

// named begins an error with the call that it is about: the target's name, and
// the job's own part of the URL without its query.
func named(to *target, c executor.Call) string {
	path, _, _ := strings.Cut(c.Call.Path, "?")
	return fmt.Sprintf("%s %s %s: ", to.name, printable(c.Call.Method), printable(path))
}

// printable keeps a value that may be malformed from spoiling a log line.
func printable(s string) string {
	if visible(s) {
		return s
	}
	return quoted(s)
}

func quoted(s string) string { return strconv.QuoteToASCII(s) }
