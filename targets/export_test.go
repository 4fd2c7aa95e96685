package targets

var (
	RetryAfter  = retryAfter
	ProblemCode = problemCode
	ParseBase   = parseBase
	Join        = join
)
