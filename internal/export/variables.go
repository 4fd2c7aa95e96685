package export

import (
	"regexp"
	"slices"
	"strings"
)

// reserved are the variables that Lambda sets itself and refuses in a
// function's configuration ("Defined runtime environment variables" in AWS's
// Lambda Developer Guide).
var reserved = strings.Fields(`
	_HANDLER _X_AMZN_TRACE_ID AWS_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_DEFAULT_REGION AWS_EXECUTION_ENV
	AWS_LAMBDA_FUNCTION_MEMORY_SIZE AWS_LAMBDA_FUNCTION_NAME AWS_LAMBDA_FUNCTION_VERSION
	AWS_LAMBDA_INITIALIZATION_TYPE AWS_LAMBDA_LOG_GROUP_NAME AWS_LAMBDA_LOG_STREAM_NAME
	AWS_LAMBDA_MAX_CONCURRENCY AWS_LAMBDA_METADATA_API AWS_LAMBDA_METADATA_TOKEN AWS_LAMBDA_RUNTIME_API
	AWS_REGION AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN LAMBDA_RUNTIME_DIR LAMBDA_TASK_ROOT`)

// ownCredentials are the credentials of the function's role, with which it may sign calls.
var ownCredentials = map[string]bool{"AWS_ACCESS_KEY_ID": true, "AWS_SECRET_ACCESS_KEY": true, "AWS_SESSION_TOKEN": true}

// settable are the names that Lambda takes (the pattern of
// EnvironmentVariableName in its API).
var settable = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]+$`)

// unsettable says why a function cannot be given a variable; "": it can.
func unsettable(name string) string {
	switch {
	case slices.Contains(reserved, name):
		return "Lambda sets it itself and refuses it in a function"
	case !settable.MatchString(name):
		return "Lambda takes names of a letter and then letters, digits and _, two characters or more"
	}
	return ""
}
