package vendor

// RetryAfter is for the tests.
var RetryAfter = retryAfter
