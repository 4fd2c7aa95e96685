package jobs

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/schedule"
)

// Job is a scheduled call, an entry of a registry. Its fields are those of the registry
// file (docs/registry.md). NewRegistry, Load and Parse replace zero fields by their
// defaults, so a Job taken from a Registry has every default set.
type Job struct {
	ID       string       `json:"id"`       // [a-z0-9][a-z0-9._-]{0,63}
	Schedule string       `json:"schedule"` // see docs/schedules.md
	Timezone string       `json:"timezone"` // IANA name; default UTC
	DST      schedule.DST `json:"dst"`      // default schedule.DSTOnce

	Target string `json:"target"` // name of a target of the registry
	// TargetURLEnv can be set instead of Target: the variable that holds the base URL.
	// It selects the declared target with this URLEnv, or else a target without
	// authorization named "env:VARIABLE". Jobs of a Registry have Target set instead.
	TargetURLEnv string   `json:"-"`
	Method       string   `json:"method"`           // default POST
	Path         string   `json:"path"`             // absolute; it is appended to the base URL
	Scopes       []string `json:"scopes,omitempty"` // of the access token; only AuthOAuth2 uses them
	// Body is any value that encoding/json can marshal. A Go string is sent as a JSON
	// string; for JSON text use a json.RawMessage. Every attempt of a run sends the same
	// body. Strings in it may have the placeholders {{jobId}}, {{runId}},
	// {{scheduledAt}}, {{previousAt}}, {{nextAt}} and {{registry}}. Default: an object
	// with jobId, runId and scheduledAt. GET and HEAD calls have no body.
	Body any `json:"-"`
	// Headers are additional header fields, with placeholders as in Body. Secrets are
	// not allowed, nor fields that cronce sets itself.
	Headers map[string]string `json:"headers,omitempty"`

	Timeout       time.Duration `json:"timeout"` // of one attempt; default 30s
	Retry         Retry         `json:"-"`
	Overlap       Overlap       `json:"overlap"`               // default OverlapSkip
	CatchUp       CatchUp       `json:"catchUp"`               // default CatchUpLatest
	CatchUpWindow time.Duration `json:"catchUpWindow"`         // default 24h
	KeyScope      string        `json:"keyScope"`              // default "route:<METHOD>_<path>"
	MaxInFlight   int           `json:"maxInFlight,omitempty"` // maximum number of calls at the same time, in each process; 0: no limit of its own
	// Spread delays each run by less than this, in whole seconds. Each scheduled time has
	// its own, fixed delay; see DueAt. Spread is at most 720h, and at most the
	// shortest time between two scheduled times. 0: no delay.
	Spread time.Duration `json:"spread,omitempty"`
	Async  Async         `json:"-"`             // default: a 202 is a success
	Each   Each          `json:"each,omitzero"` // default: a run is one call
	// Acknowledge is AckBySuccess, or "" for AckByOperator, the default.
	Acknowledge Acknowledge `json:"acknowledge,omitempty"`
	Alarm       Alarm       `json:"-"` // default: that of the registry, for each field
	Metadata                // not sent to the target
	// HeartbeatURLEnv is the variable that holds an address, which is requested at the
	// start and end of each run in the form of healthchecks.io; "": none.
	HeartbeatURLEnv string `json:"heartbeat,omitempty"`
	Key             Key    `json:"-"` // that of the target, in a job of a Registry; ignored otherwise
	Disabled        bool   `json:"-"` // no run is planned

	schedule *schedule.Schedule // parsed by the registry
	registry string             // its name

	keySafeFor time.Duration // see KeySafeFor

	keyed *keyedValues // of a job that Template.JobOf made, else nil
}

// Async allows a target to answer 202 Accepted and to finish the work later. The same
// request is then sent again until the target answers otherwise. With the zero Async a
// 202 is a success like any other 2xx.
type Async struct {
	Within time.Duration `json:"within,omitempty"` // how long the target may work after its first 202; required
	Poll   time.Duration `json:"poll,omitempty"`   // wait before the next request if there is no Retry-After; at least 1s, default 1m
}

// String returns "none", or both durations in words.
func (a Async) String() string {
	if a == (Async{}) {
		return "none"
	}
	return fmt.Sprintf("within %s, poll %s", a.Within, a.Poll)
}

// Retry defines when a failed call is retried. The zero Retry has the defaults.
type Retry struct {
	// Backoff is the wait before each retry. A run that fails after the last one is
	// dead. Default 500ms, 2s, 5s, 30s. An empty, non-nil slice means no retries.
	Backoff []time.Duration `json:"backoff"`
	// Jitter is the largest random change of each wait, as a fraction in both
	// directions; default 0.2. A negative Jitter means none.
	Jitter float64 `json:"jitter"`
	// MaxRetryAfter is the longest wait that a target may ask for; default 5m.
	MaxRetryAfter time.Duration `json:"maxRetryAfter"`
	// For adds retries after those of Backoff. Each wait is twice the one before, up to
	// MaxBackoff. Retries are added as long as the sum of all waits is at most For.
	// Jitter and Retry-After do not count in the sum. 0: no added retries. A job of a
	// Registry has the added waits in Backoff.
	For        time.Duration `json:"-"`
	MaxBackoff time.Duration `json:"-"` // default 5m
	// Horizon is how long after its first lease a run may still be sent. The keys of
	// the job must live longer. Default: see HorizonTerms.
	Horizon time.Duration `json:"horizon"`
}

// Overlap is the policy for a scheduled time that is due while an earlier run of its
// job is unfinished.
type Overlap string

const (
	OverlapSkip  Overlap = "skip"  // it does not run
	OverlapQueue Overlap = "queue" // it runs when the earlier run is finished
	OverlapAllow Overlap = "allow" // it runs at once
)

// CatchUp is the policy for scheduled times that no process planned in time.
type CatchUp string

const (
	CatchUpNone   CatchUp = "none"   // none of them runs
	CatchUpLatest CatchUp = "latest" // the latest of them runs
	CatchUpAll    CatchUp = "all"    // all of them run
)

// Acknowledge says what acknowledges the dead runs of a job.
type Acknowledge string

const (
	AckByOperator Acknowledge = "operator" // only an operator
	// AckBySuccess: a success also acknowledges those of earlier scheduled times, which are
	// then neither counted nor redriven by filter.
	AckBySuccess Acknowledge = "success"
)
