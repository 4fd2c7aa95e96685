package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a registry: where it is, and how to fix it. Line and
// Column count from 1, columns in characters; both are 0 in a registry built in Go,
// which has no file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Job     string `json:"job"` // the job's id; empty outside of jobs
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error is the problem on one line: file:line:column: job "id": message [code].
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

// Problems lists every problem found, in the order of the file. Its Error has one
// line for each.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort puts the problems in the order of the file: by line and column, those
// without a place last. Otherwise their order stays.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			compareBool(a.Line == 0, b.Line == 0),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
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

// The codes a Problem can have. A code never changes its meaning, so that
// tools may rely on it; the message may change in any release.
const (
	CodeFile             = "bad_file"            // cannot be read: missing, a directory, no permission
	CodeFileTooBig       = "file_too_big"        // larger than MaxFileSize
	CodeFileEmpty        = "empty_file"          // no content but comments
	CodeEncoding         = "bad_encoding"        // not UTF-8, or characters that YAML forbids
	CodeSyntax           = "bad_yaml"            // not YAML
	CodeSeveralDocuments = "several_documents"   // more than one YAML document
	CodeTooMuch          = "too_much"            // nested, repeated or aliased beyond reason
	CodeBadAlias         = "bad_alias"           // an alias without its anchor, or within itself
	CodeUnknownField     = "unknown_field"       // a field that the registry does not have
	CodeDuplicateField   = "duplicate_field"     // one field twice in one mapping
	CodeType             = "wrong_type"          // a list where a text is wanted, and the like
	CodeFormatVersion    = "unsupported_version" // `version` is not 1
	CodeMissingName      = "missing_name"        // the registry has no name
	CodeBadName          = "bad_name"            // of the registry, a target or a key store
	CodeDuplicateName    = "duplicate_name"      // two targets or key stores of one name
	CodeMissingID        = "missing_id"          // a job without an id
	CodeBadID            = "bad_id"              // a job id of other characters, or too long
	CodeDuplicateID      = "duplicate_id"        // two jobs of one id
	CodeReservedID       = "reserved_id"         // a job that has the built-in job's id
	CodeMissingSchedule  = "missing_schedule"    // a job without a schedule
	CodeNeedsLedger      = "needs_ledger"        // nothing without a ledger can do that
	CodeNeverAgain       = "never_again"         // a warning: every scheduled time has passed
	CodeBadSchedule      = "bad_schedule"        // a schedule that cannot be read, or never fires
	CodeBadTimezone      = "bad_timezone"        // no IANA time zone
	CodeBadValue         = "bad_value"           // not one of the values that the field allows
	CodeBadDuration      = "bad_duration"        // not a duration, or too long
	CodeNegativeDuration = "negative_duration"   // below zero
	CodeZeroDuration     = "zero_duration"       // zero where nothing could happen in no time
	CodeOutOfRange       = "out_of_range"        // a number outside of its range
	CodeSecretFile       = "secret_file"         // the file of a secret is missing, empty or unreadable
	CodeMissingTarget    = "missing_target"      // neither target nor targetUrlEnv
	CodeTwoTargets       = "two_targets"         // both target and targetUrlEnv
	CodeUnknownTarget    = "unknown_target"      // a target that is not declared
	CodeAmbiguousTarget  = "ambiguous_target"    // targetUrlEnv that several targets share
	CodeMissingPath      = "missing_path"        // a job without a path
	CodeBadPath          = "bad_path"            // no absolute URL path
	CodeBadMethod        = "bad_method"          // no HTTP method for a call
	CodeBadScope         = "bad_scope"           // authorization scope, key scope or key scope pattern
	CodeDuplicateScope   = "duplicate_scope"     // one scope twice
	CodeBadBody          = "bad_body"            // a body that is no JSON, or where none is sent
	CodeBadPlaceholder   = "bad_placeholder"     // {{...}} that names none
	CodeMissingField     = "missing_field"       // a field that its neighbours require
	CodeNeedlessField    = "needless_field"      // a field that its neighbours make meaningless
	CodeBadVariable      = "bad_variable_name"   // not the name of an environment variable
	CodeUnsetVariable    = "unset_variable"      // an environment variable that is unset or empty
	CodeBadURL           = "bad_url"             // a variable that holds no usable URL
	CodeInsecureURL      = "insecure_url"        // http to another machine
	CodeBadSecret        = "bad_secret"          // a secret with white space or control characters
	CodeMissingReason    = "missing_reason"      // the nightly purge switched off without saying why
	CodeRetention        = "retention"           // a key that may be forgotten while its run may still be sent
)
