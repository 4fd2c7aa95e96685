package jobs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cronce/cronce/jobs/internal/field"
)

// Key says how a target takes the idempotency keys of runs.
type Key struct {
	Header string  `json:"keyHeader,omitempty"` // the field that carries the key; default HeaderIdempotencyKey
	Form   KeyForm `json:"keyForm,omitempty"`   // default KeyRunID
	// Max is the target's own limit for the length of a key, in characters; 0: none. A
	// registry with a job whose keys could be longer is refused.
	Max int `json:"-"`
	// Lifetime is the path at which the target says how long it keeps keys; default
	// ttl.LifetimesPath.
	Lifetime string `json:"-"`
}

// String returns the form and the header, such as "runId in Idempotency-Key".
func (k Key) String() string {
	return string(cmp.Or(k.Form, KeyRunID)) + " in " + cmp.Or(k.Header, HeaderIdempotencyKey)
}

// HeaderIdempotencyKey is the default of Key.Header.
const HeaderIdempotencyKey = "Idempotency-Key"

// vendorKey has the characters and the length that a vendor accepts in its own header for keys.
type vendorKey struct {
	name  string
	most  int  // characters
	plain bool // only A-Z a-z 0-9 - and _
}

// vendorKeys are the vendors' headers with limits that a run ID can exceed, in lower case.
// Sources: Amazon Pay API v2, Idempotency; Worldline Direct, Idempotent requests; the
// Lambda API, Invoke, DurableExecutionName.
var vendorKeys = map[string]vendorKey{
	"x-amz-pay-idempotency-key":    {"Amazon Pay", 32, true},
	"x-gcs-idempotence-key":        {"Worldline", 40, false},
	"x-amz-durable-execution-name": {"AWS Lambda", 64, true},
}

// plain reports whether all keys of a form have only letters, digits, - and _.
func (f KeyForm) plain() bool { return f != "" && f != KeyRunID }

// checkKey refuses a field that is another part of the call, and a path that is none.
func (d *draft) checkKey(path string, t Target) {
	k, lower := t.Key, strings.ToLower(t.Key.Header)
	credential := false
	for name := range t.Auth.Headers {
		credential = credential || strings.EqualFold(name, k.Header)
	}
	switch {
	case k.Header == "" || strings.EqualFold(k.Header, HeaderIdempotencyKey):
	case !fieldName(k.Header):
		d.Add(path+".header", codeBadName, "invalid header name %s; a name has letters, digits and dashes", field.Quoted(k.Header))
	case credential || isOwnField(lower) || slices.Contains(tracingFields, lower) || slices.Contains(authFields, lower):
		d.Add(path+".header", codeBadName,
			"the header %s has another meaning in the call; name the field in which the target takes keys, such as %s", k.Header,
			HeaderIdempotencyKey)
	}
	if k.Lifetime != "" {
		if why := badPath(k.Lifetime); why != "" {
			d.Add(path+".lifetime", codeBadPath, "%s", why)
		}
	}
}

// checkJobKey refuses a job whose keys its target would not take.
func (d *draft) checkJobKey(path string, j Job, keyed *keyedTerms) {
	k := j.Key
	if !k.Form.Known() || !ValidJobID(j.ID) {
		return // reported already
	}
	id := j.ID
	if keyed != nil {
		id = ScheduleID(id, strings.Repeat("x", MaxKey))
	}
	longest, vendor := k.Form.longest(id), vendorKeys[strings.ToLower(k.Header)]
	if j.fansOut() && k.Form.isRunID() {
		longest = min(longest+len(memberMark)+maxMember, MaxRunIDLength)
	}
	most := k.Max
	if vendor.most > 0 && (most == 0 || vendor.most < most) {
		most = vendor.most
	}
	switch {
	case most > 0 && longest > most:
		d.Add(path, field.OutOfRange,
			"keys of the job can have %d characters, and target %s takes at most %d; set the key.form of the target to %s",
			longest, j.Target, most, d.fitting(id, most))
	case vendor.plain && !k.Form.plain():
		d.Add(path, CodeBadValue,
			"keys of the form %s have @ and :, and %s takes only letters, digits, - and _ in %s; set the key.form of target %s to %s",
			cmp.Or(k.Form, KeyRunID), vendor.name, k.Header, j.Target, d.fitting(id, most))
	}
}

// fitting names the forms whose keys are short enough.
func (d *draft) fitting(jobID string, most int) string {
	var names []string
	for _, f := range keyForms[1:] {
		if f.longest(jobID) <= most {
			names = append(names, string(f))
		}
	}
	if len(names) == 0 {
		return "none: no form is so short"
	}
	return strings.Join(names, " or ")
}

// checkVendorHeader refuses a key in a vendor's header that cannot hold a run ID.
func (d *draft) checkVendorHeader(path, name, value string) {
	if vendor, known := vendorKeys[strings.ToLower(name)]; known && hasPlaceholder(value) {
		d.Add(path, CodeBadValue,
			"%s takes keys of at most %d characters in %s, and a run ID can be longer; "+
				"remove this header, and set key: {header: %s, form: hex32} on the target",
			vendor.name, vendor.most, name, name)
	}
}
