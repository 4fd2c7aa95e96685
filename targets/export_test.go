package targets

var (
	RetryAfter    = retryAfter
	ProblemCode   = problemCode
	ParseBase     = parseBase
	ParseEndpoint = parseEndpoint
	Join          = join

	InMilliseconds = inMilliseconds
)
