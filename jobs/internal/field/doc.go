// Package field reads a file field by field, as the registry file is read: YAML or JSON,
// strictly, with the place of each value and the next best name for a wrong one.
//
// A table of rows says which fields an object has. A Row has the name of a field, its Kind
// (how the value is written, where it goes to, what it may be) and its text in the
// reference. Decoder, JSON Schema, checks and defaults are made from the rows.
package field

// Codes of the problems that this package finds.
const (
	BadValue         = "bad_value"           // not one of the values that the field allows
	FileTooBig       = "file_too_big"        // larger than MaxFileSize
	FileEmpty        = "empty_file"          // no content but comments
	Encoding         = "bad_encoding"        // not UTF-8, or characters that YAML forbids
	Syntax           = "bad_yaml"            // not YAML
	SeveralDocuments = "several_documents"   // more than one YAML document
	TooMuch          = "too_much"            // nested, repeated or aliased beyond reason
	BadAlias         = "bad_alias"           // an alias without its anchor, or within itself
	UnknownField     = "unknown_field"       // a field that the object does not have
	DuplicateField   = "duplicate_field"     // one field twice in one mapping
	WrongType        = "wrong_type"          // a list where a text is wanted, and the like
	Ambiguous        = "ambiguous_value"     // without quotes, programs read it differently
	BadDuration      = "bad_duration"        // not a duration, or too long
	NegativeDuration = "negative_duration"   // below zero
	ZeroDuration     = "zero_duration"       // zero where nothing could happen in no time
	OutOfRange       = "out_of_range"        // a number outside of its range
	BadBody          = "bad_body"            // a value that is not JSON
	FormatVersion    = "unsupported_version" // `version` is not 1
)

// MaxFileSize is the maximum size of a file, in bytes.
const MaxFileSize = 1 << 20
