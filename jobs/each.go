package jobs

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/jobs/internal/field"
)

// Each makes the runs of a job parents: a run fetches a list, and each item's key makes a
// member, a run of its own. Path, Body and Headers of the job are those of a member; Path and
// Body may have the placeholder {{key}}. In all of them {{runId}} is the member's run ID.
type Each struct {
	Path     string `json:"path"`               // of the list, fetched with GET from the job's target
	Items    string `json:"items,omitempty"`    // where the keys are in the answer, such as tenants.id; "": the answer is a list of keys
	Max      int    `json:"max"`                // a longer list makes the run dead; default 100000
	InFlight int    `json:"inFlight,omitempty"` // members at a time; 0: no limit of its own
}

// Bounds of Each.
const (
	DefaultEachMax = 100_000
	maxEach        = 1_000_000
	// MaxEachID is the maximum length of the ID of a job with Each: the run ID of a member of
	// a rerun still has room for a hash.
	MaxEachID = MaxRunIDLength - len(memberMark+"@2006-01-02T15:04:05Z~00000000-0000-0000-0000-000000000000") - hashedMember
	// MaxMemberKey is the maximum length of a member's key, in bytes.
	MaxMemberKey = 512
	// maxMember is the maximum length of a key that is in the run ID as it is.
	maxMember = 48
	// hashedMember is the length of a key in the run ID that is not: "_" and 128 bits in base32.
	hashedMember = 27
	memberMark   = "::"
)

// MemberRunID returns the run ID of a parent's member: "<job>::<member>@<scheduled time>",
// with the parent's token if it has one. A key of up to 48 letters, digits, dots, dashes and
// underscores that begins with a letter or digit is in it as it is, if a run ID has room for
// it. Any other key is hashed, with an underscore before it. So no two keys have one run ID.
func MemberRunID(parentID, key string) (string, error) {
	if err := CheckMemberKey(key); err != nil {
		return "", err
	}
	job, at, found := strings.Cut(parentID, "@")
	if _, _, _, err := ParseRunID(parentID); err != nil || !found || strings.Contains(job, keySeparator) {
		return "", fmt.Errorf("%w: %q has no members", ErrBadRunID, parentID)
	}
	id := func(member string) string { return job + memberMark + member + "@" + at }
	if plain := id(key); len(key) <= maxMember && validToken(key) && !punctuation(key[0]) && len(plain) <= MaxRunIDLength {
		return plain, nil
	}
	sum := sha256.Sum256([]byte(key))
	hashed := id("_" + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16])))
	if len(hashed) > MaxRunIDLength {
		return "", fmt.Errorf("%w: a member of %q would have %d bytes; the maximum is %d", ErrBadRunID, parentID, len(hashed), MaxRunIDLength)
	}
	return hashed, nil
}

// CheckMemberKey returns an error for a text that cannot be a member's key.
func CheckMemberKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("empty key; a key has 1 to %d bytes", MaxMemberKey)
	case len(key) > MaxMemberKey:
		return fmt.Errorf("the key %.40q… has %d bytes; the maximum is %d", key, len(key), MaxMemberKey)
	case !utf8.ValidString(key) || strings.ContainsRune(key, 0):
		return fmt.Errorf("the key %.80q is not text: it is not valid UTF-8, or has a NUL", key)
	case key == "." || key == "..":
		return fmt.Errorf("the key %q cannot be part of a path", key)
	}
	return nil
}

// splitMember returns the job of a member's owner part in its run ID, "<job>::<member>".
func splitMember(owner string) (jobID string, is bool) {
	jobID, member, found := strings.Cut(owner, memberMark)
	return jobID, found && ValidJobID(jobID) && validToken(member)
}

// MemberPath fills the placeholders in the frozen path of a job with Each. MemberBody and
// MemberText fill those that RequestBody and RequestHeaders leave.
func MemberPath(path, key string) string {
	return expand(path, func(string) string { return escapeSegment(key) })
}

// MemberBody fills a body: see MemberPath.
func MemberBody(body, runID, key string) string {
	return expand(body, func(name string) string {
		if name == placeholderKey {
			return inJSON(key)
		}
		return inJSON(runID)
	})
}

// MemberText fills the value of a header: see MemberPath.
func MemberText(text, runID string) string {
	return expand(text, func(string) string { return runID })
}

// ofMember are the placeholders that only a member fills.
var ofMember = []string{placeholderKey, "runId"}

// expandForMembers puts the values of placeholders into a text, and leaves those that only a
// member fills.
func expandForMembers(text string, value func(name string) string) string {
	var b strings.Builder
	for text != "" {
		var p piece
		p, text = cutPiece(text)
		b.WriteString(p.before)
		switch {
		case p.named && slices.Contains(ofMember, p.name):
			b.WriteString(openPlaceholder + p.name + closePlaceholder)
		case p.named:
			b.WriteString(value(p.name))
		case strings.HasSuffix(p.before, openPlaceholder): // a literal one stays so
			b.WriteString(openPlaceholder)
		}
	}
	return b.String()
}

// memberBody does what RequestBody does, for a job with Each.
func (j Job) memberBody(runID string, at time.Time) []byte {
	body, _ := j.ownBody()
	if body == nil {
		body, _ = field.JSONText(defaultBody{JobID: j.ID, RunID: "{{runId}}", ScheduledAt: "{{scheduledAt}}", Key: "{{key}}"})
	}
	value := j.placeholders(runID, at)
	return []byte(expandForMembers(string(body), func(name string) string { return inJSON(value(name)) }))
}

// String returns "none", or where the list is and its bounds, in words.
func (e Each) String() string {
	if e == (Each{}) {
		return "none"
	}
	text := fmt.Sprintf("%s of %s, at most %d", cmp.Or(e.Items, "the keys"), e.Path, e.Max)
	if e.InFlight > 0 {
		text += fmt.Sprintf(", %d in flight", e.InFlight)
	}
	return text
}

// FansOut reports whether a job of the registry has each.
func (r *Registry) FansOut() bool {
	return slices.ContainsFunc(r.jobs, func(j registered) bool { return j.shared.fansOut() })
}

// fansOut reports whether the job has each.
func (j Job) fansOut() bool { return j.Each != Each{} }

// checkEach checks what only a job with each has.
func (d *draft) checkEach(path string, j Job, keyed *keyedTerms) {
	if !j.fansOut() {
		return
	}
	e, at := j.Each, path+".each"
	if keyed != nil {
		d.Add(at, codeNeedlessField, "a job with keyed cannot have each, because run IDs have a place for one key; remove one of them")
	}
	if len(j.ID) > MaxEachID {
		d.Add(path+".id", codeBadID, "the id %s has %d characters; that of a job with each has at most %d, because members follow it in run IDs",
			field.Quoted(j.ID), len(j.ID), MaxEachID)
	}
	if why := badPath(e.Path); e.Path == "" {
		d.Add(at+".path", codeMissingField, "path is missing; set it to that of the list, e.g. /v1/tenants")
	} else if why != "" {
		d.Add(at+".path", codeBadPath, "%s", why)
	}
	if e.Items != "" && slices.Contains(strings.Split(e.Items, "."), "") {
		d.Add(at+".items", CodeBadValue, "invalid items %s; write the names of fields with dots between them, e.g. tenants.id",
			field.Quoted(e.Items))
	}
	if e.Max > maxEach {
		d.Add(at+".max", CodeBadValue, "max %d is out of range; valid values are 1 to %d", e.Max, maxEach)
	}
	if j.MaxInFlight != 0 {
		d.Add(path+".maxInFlight", codeNeedlessField, "each.inFlight limits the members of a job with each; remove maxInFlight")
	}
	body, _ := j.ownBody()
	if j.Body != nil && !strings.Contains(j.Path+string(body), openPlaceholder+placeholderKey+closePlaceholder) {
		d.Add(at, codeMissingField, "neither path nor body has {{key}}, so all members would send the same request; add it")
	}
}
