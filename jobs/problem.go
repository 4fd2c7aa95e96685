package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/cronce/cronce/jobs/internal/field"
)

// Problem is an error that describes one mistake in a registry or its environment.
type Problem struct {
	File    string `json:"file"`    // empty for a registry built in Go
	Line    int    `json:"line"`    // from 1; 0: unknown
	Column  int    `json:"column"`  // in characters, from 1; 0: unknown
	Job     string `json:"job"`     // the job's ID; empty if it concerns no job
	Code    string `json:"code"`    // stable, such as "bad_schedule"
	Message string `json:"message"` // what is wrong and how to fix it
}

// Error returns the problem on one line: file:line:column: job "id": message [code].
func (p Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": ")
	}
	if p.Job != "" {
		fmt.Fprintf(&b, "job %q: ", p.Job)
	}
	fmt.Fprintf(&b, "%s [%s]", p.Message, p.Code)
	return b.String()
}

// MessageOf returns the message of an error, which in case of a Problem is without its place.
func MessageOf(err error) string {
	if p, is := errors.AsType[Problem](err); is {
		return p.Message
	}
	return err.Error()
}

// Problems is an error that lists every problem found, in the order of the file. If a
// function returns Problems, an empty one means that there are none. Test its length, and
// do not assign it to a variable of type error, which is then never nil.
type Problems []Problem

// Error returns the problems, one on each line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort sorts the problems by file, line and column, those without a line last. The
// sort is stable.
func (ps Problems) Sort() {
	sort.SliceStable(ps, func(i, k int) bool {
		a, b := ps[i], ps[k]
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			compareBool(a.Line == 0, b.Line == 0),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		) < 0
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Codes of a Problem that other packages find too. The meaning of a code never changes,
// so tools can rely on it. Messages may change in any release.
const (
	CodeBadValue      = field.BadValue   // not one of the values that the field allows
	CodeUnsetVariable = "unset_variable" // an environment variable that is unset or empty
	CodeBadURL        = "bad_url"        // a variable that holds no usable URL
	CodeInsecureURL   = "insecure_url"   // http to another machine
	CodeBadSecret     = "bad_secret"     // a secret with white space or control characters
	CodeRetention     = "retention"      // a key that may be forgotten while its run may still be sent
)

// Codes of a Problem that only this package finds. Those that the reading of a file finds
// are in package field.
const (
	codeFile            = "bad_file"          // cannot be read: missing, a directory, no permission
	codeMissingName     = "missing_name"      // the registry has no name
	codeBadName         = "bad_name"          // of the registry, a target or a key store
	codeDuplicateName   = "duplicate_name"    // two targets or key stores of one name
	codeMissingID       = "missing_id"        // a job without an id
	codeBadID           = "bad_id"            // a job id of other characters, or too long
	codeDuplicateID     = "duplicate_id"      // two jobs of one id
	codeReservedID      = "reserved_id"       // a job that has the built-in job's id
	codeMissingSchedule = "missing_schedule"  // a job without a schedule
	codeNeedsLedger     = "needs_ledger"      // nothing without a ledger can do that
	codeNoJobs          = "no_jobs"           // a warning: there is only the built-in one
	codeNeverAgain      = "never_again"       // a warning: every scheduled time has passed
	codeOldZones        = "old_zones"         // a warning: the time zone database is more than a year old
	codeQuartz          = "quartz_weekdays"   // a warning: in Quartz these are other weekdays
	codeBadSchedule     = "bad_schedule"      // a schedule that cannot be read, or never fires
	codeBadTimezone     = "bad_timezone"      // no IANA time zone
	codeSecretFile      = "secret_file"       // the file of a secret is missing, empty or unreadable
	codeMissingTarget   = "missing_target"    // neither target nor targetUrlEnv
	codeTwoTargets      = "two_targets"       // both target and targetUrlEnv
	codeUnknownTarget   = "unknown_target"    // a target that is not declared
	codeAmbiguousTarget = "ambiguous_target"  // targetUrlEnv that several targets share
	codeMissingPath     = "missing_path"      // a job without a path
	codeBadPath         = "bad_path"          // not an absolute URL path
	codeBadScope        = "bad_scope"         // authorization scope, key scope or key scope pattern
	codeDuplicateScope  = "duplicate_scope"   // one scope twice
	codeBadPlaceholder  = "bad_placeholder"   // {{...}} with an unknown name
	codeMissingField    = "missing_field"     // a field that its neighbours require
	codeNeedlessField   = "needless_field"    // a field that its neighbours make meaningless
	codeBadVariable     = "bad_variable_name" // not the name of an environment variable
	CodeBadSchema       = "bad_schema"        // not a JSON Schema
	CodeBadData         = "bad_data"          // not an object, too large, or without a field that the template needs
	codeMissingReason   = "missing_reason"    // the nightly purge switched off without saying why
)
