package jobs

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/jobs/internal/field"
)

// Bounds of a job's headers.
const (
	maxHeaders     = 20
	maxHeaderValue = 1024 // bytes, with the longest values of its placeholders
)

// ownFields are the header fields that a call has, and those that say how it is
// transported, in lower case.
var ownFields = []string{
	"idempotency-key", "content-type", "content-length", "content-encoding", "accept-encoding", "transfer-encoding", "host", "user-agent",
	"connection", "upgrade", "te", "trailer", "keep-alive", "expect", "proxy-connection", "proxy-authorization",
}

// tracingFields are set for each call where tracing is on.
var tracingFields = []string{"traceparent", "tracestate", "baggage"}

// authFields are set by an auth type, or hold secrets by their names, in lower case.
var authFields = []string{
	"authorization", "cookie", "x-api-key", "api-key", "apikey", "x-auth-token", "x-access-token", "x-amz-date", "x-amz-security-token",
	"x-amz-content-sha256", "webhook-id", "webhook-timestamp", "webhook-signature",
}

func isOwnField(lower string) bool {
	return slices.Contains(ownFields, lower) || strings.HasPrefix(lower, "cronce-")
}

// checkJobHeaders refuses fields that a call has anyway, and those that hold secrets:
// the values stand in the registry and in the ledger.
func (d *draft) checkJobHeaders(path string, j Job, keyed *keyedTerms) {
	if len(j.Headers) > maxHeaders {
		d.Add(path, field.OutOfRange, "headers has %d fields, the maximum is %d", len(j.Headers), maxHeaders)
		return
	}
	auth := map[string]bool{}
	for name := range d.declared[j.Target].Auth.Headers {
		auth[strings.ToLower(name)] = true
	}
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(j.Headers)) {
		at, lower := field.Join(path, name), strings.ToLower(name)
		first, twice := seen[lower]
		seen[lower] = name
		switch {
		case !fieldName(name):
			d.Add(at, codeBadName, "invalid header name %s; a name has letters, digits and dashes", field.Quoted(name))
		case slices.Contains(authFields, lower):
			d.Add(at, codeBadName,
				"the header %s belongs to the target's auth, whose values come from variables or files; the registry holds no secrets", name)
		case isOwnField(lower) || slices.Contains(tracingFields, lower):
			d.Add(at, codeBadName, "the header %s is the call's own and cannot be set", name)
		case strings.EqualFold(name, j.Key.Header):
			d.Add(at, codeDuplicateName, "the header %s carries the key of target %s; remove it here", name, j.Target)
		case auth[lower]:
			d.Add(at, codeDuplicateName, "the header %s is set by the auth of target %s; remove one", name, j.Target)
		case twice:
			d.Add(at, codeDuplicateName, "the headers %s and %s are one field; keep one", first, name)
		default:
			d.checkHeaderValue(at, name, j.Headers[name], keyed.headerNames())
		}
	}
}

func (d *draft) checkHeaderValue(path, name, value string, names placeholderSet) {
	n, ok := d.checkPlaceholders(path, value, names)
	switch {
	case !ok:
	case value == "" || !plaintext.VisibleASCII(strings.ReplaceAll(value, " ", "x")) || strings.TrimSpace(value) != value:
		d.Add(path, CodeBadValue, "invalid value of header %s; a value has visible ASCII characters, and spaces only between them", name)
	case n > maxHeaderValue:
		d.Add(path, field.OutOfRange, "the value of header %s can have %d bytes, the maximum is %d", name, n, maxHeaderValue)
	default:
		d.checkVendorHeader(path, name, value)
	}
}

// RequestHeaders returns Headers with the values of their placeholders, as every attempt
// of a run sends them. Do not modify the map.
func (j Job) RequestHeaders(runID string, scheduledAt time.Time) map[string]string {
	if !j.headersVary() {
		return j.Headers
	}
	fill := expand
	if j.fansOut() {
		fill = expandForMembers
	}
	headers := make(map[string]string, len(j.Headers))
	for name, value := range j.Headers {
		headers[name] = fill(value, j.placeholders(runID, scheduledAt))
	}
	return headers
}

func (j Job) headersVary() bool {
	for _, value := range j.Headers {
		if hasPlaceholder(value) {
			return true
		}
	}
	return false
}
