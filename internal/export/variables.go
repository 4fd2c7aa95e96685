package export

import "regexp"

// reserved are the variables that Lambda sets itself and refuses in a
// function's configuration ("Defined runtime environment variables" in AWS's
// Lambda Developer Guide).
var reserved = map[string]bool{
	"_HANDLER":                        true,
	"_X_AMZN_TRACE_ID":                true,
	"AWS_ACCESS_KEY":                  true,
	"AWS_ACCESS_KEY_ID":               true,
	"AWS_DEFAULT_REGION":              true,
	"AWS_EXECUTION_ENV":               true,
	"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": true,
	"AWS_LAMBDA_FUNCTION_NAME":        true,
	"AWS_LAMBDA_FUNCTION_VERSION":     true,
	"AWS_LAMBDA_INITIALIZATION_TYPE":  true,
	"AWS_LAMBDA_LOG_GROUP_NAME":       true,
	"AWS_LAMBDA_LOG_STREAM_NAME":      true,
	"AWS_LAMBDA_MAX_CONCURRENCY":      true,
	"AWS_LAMBDA_METADATA_API":         true,
	"AWS_LAMBDA_METADATA_TOKEN":       true,
	"AWS_LAMBDA_RUNTIME_API":          true,
	"AWS_REGION":                      true,
	"AWS_SECRET_ACCESS_KEY":           true,
	"AWS_SESSION_TOKEN":               true,
	"LAMBDA_RUNTIME_DIR":              true,
	"LAMBDA_TASK_ROOT":                true,
}

// ownCredentials are those of the function's role, with which it may sign calls.
var ownCredentials = map[string]bool{"AWS_ACCESS_KEY_ID": true, "AWS_SECRET_ACCESS_KEY": true, "AWS_SESSION_TOKEN": true}

// settable are the names that Lambda takes (the pattern of
// EnvironmentVariableName in its API).
var settable = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]+$`)

// unsettable says why a function cannot be given a variable; "": it can.
func unsettable(name string) string {
	switch {
	case reserved[name]:
		return "Lambda sets it itself and refuses it in a function"
	case !settable.MatchString(name):
		return "Lambda takes names of a letter and then letters, digits and _, two characters or more"
	}
	return ""
}
