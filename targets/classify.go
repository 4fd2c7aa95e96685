package targets

import (
	"fmt"
	"net/http"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/idempotency/retryafter"
	"github.com/cronce/cronce/ledger"
)

// The problem codes that change what a status means. Package idempotency
// answers with them.
const (
	codeInProgress = "idempotency_key_in_progress"
	codeMismatch   = "idempotency_key_payload_mismatch"
	codeTooLate    = "run_too_late"
)

const (
	// headerReplayed marks an answer that was stored earlier and is sent again.
	headerReplayed = "Idempotent-Replayed"
	// headerExpires says when the target forgets the request's key (RFC 3339).
	headerExpires = "Idempotency-Key-Expires"
)

// keyKept returns how long after the answer the target keeps the key, by its own clock if
// the answer has a Date, which is in whole seconds; 0: it does not say.
func keyKept(h http.Header, now time.Time) time.Duration {
	expires, err := time.Parse(time.RFC3339, h.Get(headerExpires))
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date.Add(time.Second)
	}
	return max(expires.Sub(now), 1)
}

// reply is the part of a target's answer that decides its meaning.
type reply struct {
	status int
	header http.Header
	code   string // the problem code, if there was one
	// cut: the body did not arrive whole. unread: it is encoded, or too long. code may be missing.
	cut, unread bool
	// async: the job lets its target answer 202 and work on. progress is what the
	// body of such a 202 says.
	async    bool
	progress string
}

// accepted reports whether the target works on.
func (r reply) accepted() bool { return r.async && r.status == http.StatusAccepted }

// classify returns what a reply means for the run. now is when it arrived.
//
// A 2xx counts as soon as its headers have arrived, even if the body is cut off: the
// status is the target's statement that it has done the work, and the body cannot
// revoke it. Where the body decides (409, 412, 422) a cut-off answer is unknown: a
// guess could make a run dead whose first call is still in progress.
func classify(r reply, now time.Time) executor.Answer {
	a := executor.Answer{Status: r.status, Code: r.code, KeyKept: keyKept(r.header, now)}
	switch s := r.status; {
	case s >= 200 && s < 300:
		a.Kind = success(r.header)
		if r.accepted() { // replayed or not: a stored 202 does not say that the work is done
			a.Kind, a.Progress = ledger.AnswerAccepted, r.progress
			a.RetryAfter = retryafter.Parse(r.header.Get("Retry-After"), now)
		}
		return a
	case s == http.StatusConflict, s == http.StatusPreconditionFailed, s == http.StatusUnprocessableEntity:
		byProblemCode(&a, r)
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		a.Kind, a.SlowDown = ledger.AnswerThrottled, s == http.StatusTooManyRequests
	case s == http.StatusUnauthorized:
		a.Kind, a.Reason = ledger.AnswerRefused, ledger.ReasonUnauthorized
	case s == http.StatusProxyAuthRequired, s == http.StatusRequestTimeout, s == http.StatusTooEarly, !final(s):
		a.Kind = ledger.AnswerFailed
	default:
		a.Kind, a.Reason = ledger.AnswerRefused, ledger.ReasonPermanent
	}
	if a.Kind == ledger.AnswerThrottled || a.Kind == ledger.AnswerInProgress || a.Kind == ledger.AnswerFailed {
		a.RetryAfter = retryafter.Parse(r.header.Get("Retry-After"), now)
	}
	a.Error = inWords(a)
	return a
}

// final reports whether a status is a 3xx or 4xx. What is outside 100 to 599 is
// treated as a 5xx (RFC 9110, section 15), and so is a 1xx that ends an
// exchange, such as a 101 without a request to upgrade.
func final(status int) bool { return status >= 300 && status < 500 }

func success(h http.Header) ledger.AnswerKind {
	if h.Get(headerReplayed) == "true" {
		return ledger.AnswerReplayed
	}
	return ledger.AnswerFresh
}

// byProblemCode sets what an answer means whose status does not say it alone: 409, 412 or 422.
func byProblemCode(a *executor.Answer, r reply) {
	a.Kind, a.Reason = ledger.AnswerRefused, ledger.ReasonPermanent
	switch {
	case r.status == http.StatusConflict && r.code == codeInProgress:
		a.Kind, a.Reason = ledger.AnswerInProgress, ""
	case r.status != http.StatusPreconditionFailed && r.code == codeMismatch:
		a.Reason = ledger.ReasonPayloadMismatch
	case r.status == http.StatusPreconditionFailed && r.code == codeTooLate:
		a.Reason = ledger.ReasonKeyExpired
	case r.cut, r.unread:
		a.Kind, a.Reason = ledger.AnswerUnknown, ""
	}
}

// inWords describes an unsuccessful answer, for the attempt's row.
func inWords(a executor.Answer) string {
	var what string
	switch {
	case a.Kind == ledger.AnswerInProgress:
		what = "an earlier call of this run is still working"
	case a.Kind == ledger.AnswerUnknown:
		what = "the answer broke off, is compressed or is too long, before it said what it means"
	case a.Kind == ledger.AnswerThrottled:
		what = "the target asks to be called later"
	case a.Status == http.StatusProxyAuthRequired: // never a target's (RFC 9110, section 15.5.8)
		what = "the proxy asks for credentials; check those in HTTP_PROXY and HTTPS_PROXY"
	case a.Kind == ledger.AnswerFailed:
		what = "the target failed"
	case a.Reason == ledger.ReasonPayloadMismatch:
		what = "the target knows this run ID with another payload"
	case a.Reason == ledger.ReasonKeyExpired:
		what = "the target refuses the run as too late"
	case a.Reason == ledger.ReasonUnauthorized:
		what = "the target does not accept the credentials"
	case a.Status < 400:
		what = "the target redirects, and redirects are not followed: correct the job's path or the target's base URL"
	default:
		what = "the target refuses the call"
	}
	if a.Code != "" {
		return fmt.Sprintf("HTTP %d (%s): %s", a.Status, a.Code, what)
	}
	return fmt.Sprintf("HTTP %d: %s", a.Status, what)
}
