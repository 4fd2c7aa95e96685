package targets

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/clocks"
	"github.com/cronce/cronce/jobs"
)

// mostFields are ours, a credential and a trace: a map made for as many need
// not grow while they are set.
const mostFields = 11

// setHeaders sets the fields that tell a target which run this is. The key is
// sent bare, as Stripe's clients do; no form of a key needs quoting.
func setHeaders(h http.Header, c executor.Call, userAgent string) {
	f := fields{h, make([]string, 0, 9)}
	if !c.List { // a GET has no effect, and each page is another request
		f.set(keyHeader(c), c.Key())
	}
	f.set("Cronce-Registry", c.Registry)
	f.set("Cronce-Run-Id", c.RunID)
	f.set("Cronce-Job-Id", c.JobID)
	f.set("Cronce-Scheduled-At", c.ScheduledAt.UTC().Format(time.RFC3339))
	f.set("Cronce-Attempt", strconv.Itoa(c.Attempt))
	f.set("User-Agent", userAgent)
	delete(h, "Cronce-Send-Before")
	if !c.SendBefore.IsZero() {
		f.set("Cronce-Send-Before", clocks.Milliseconds(c.SendBefore))
	}
	delete(h, "Authorization")
	delete(h, "Content-Type")
	if len(c.Call.Body) > 0 {
		f.set("Content-Type", cmp.Or(c.Call.ContentType, "application/json"))
	}
}

// keyHeader returns the canonical name of the field that carries the key.
func keyHeader(c executor.Call) string {
	if c.Call.KeyHeader == "" {
		return jobs.HeaderIdempotencyKey
	}
	return http.CanonicalHeaderKey(c.Call.KeyHeader)
}

// setOwn sets the job's own fields; a registry allows none that a call has, a row
// changed by hand could.
func setOwn(h http.Header, own map[string]string) {
	for name, value := range own {
		canonical := http.CanonicalHeaderKey(name)
		if _, taken := h[canonical]; !taken {
			h[canonical] = []string{value}
		}
	}
}

// fields sets fields of one value, in one piece of memory for all of them.
type fields struct {
	header http.Header
	values []string
}

// set takes a name in its canonical form.
func (f *fields) set(name, value string) {
	n := len(f.values)
	f.values = append(f.values, value)
	f.header[name] = f.values[n : n+1 : n+1]
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
	if !jobs.KeyForm(c.Call.KeyForm).Known() {
		return "this program does not know the form of key " + quoted(c.Call.KeyForm) + "; run the version that admitted the run"
	}
	return ""
}

// named begins an error with the call that it is about: the target's name, and
// the job's own part of the URL without its query.
func named(to *target, c executor.Call) string {
	path, _, _ := strings.Cut(c.Call.Path, "?")
	if path == "" { // a channel's address is whole, and not shown
		return fmt.Sprintf("%s %s: ", to.name, printable(c.Call.Method))
	}
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
