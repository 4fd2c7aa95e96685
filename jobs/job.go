package jobs

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/schedule"
)

// Job is a registry entry: a scheduled admin call. The fields are those of the
// registry file; zero fields get their defaults from NewRegistry or Load, and
// a Job taken from a Registry has them all set.
type Job struct {
	ID       string       // [a-z0-9][a-z0-9._-]{0,63}
	Schedule string       // see docs/schedules.md
	Timezone string       // IANA name; default UTC
	DST      schedule.DST // default schedule.DSTOnce

	Target string // a target of the registry; or
	// TargetURLEnv is the short form: the variable that holds the base URL. It
	// means the declared target with this variable, else one without
	// authorization, "env:VARIABLE". A Registry's jobs have Target instead.
	TargetURLEnv string
	Method       string   // default POST
	Path         string   // absolute, joined to the base URL
	Scopes       []string // authorization scopes that the call's token carries
	// Body is sent on every attempt alike: any value that encoding/json can
	// marshal. Default: {"jobId","runId","scheduledAt"}. Strings in it may have
	// placeholders: {{jobId}}, {{runId}}, {{scheduledAt}}, {{previousAt}}, {{nextAt}}
	// and {{registry}}.
	Body any
	// Headers are further header fields, with placeholders as in Body: no secrets,
	// and no fields that every call has.
	Headers map[string]string

	Timeout       time.Duration // of one attempt; default 30s
	Retry         Retry
	Overlap       Overlap       // default OverlapSkip
	CatchUp       CatchUp       // default CatchUpLatest
	CatchUpWindow time.Duration // default 24h
	KeyScope      string        // default "route:<METHOD>_<path>"
	MaxInFlight   int           // runs of this job at once; 0: the executor's limit
	// Spread delays each run by a fixed time of less than this, in whole seconds; see
	// DueAt. It is at most the shortest time between two scheduled times.
	Spread time.Duration
	Async  Async // the target may answer 202 and work on
	Alarm  Alarm // default the registry's
	About        // for people: no part of what a call sends
	// HeartbeatURLEnv is the variable that holds the address that is pinged at each
	// run's start and end, in the form of healthchecks.io; "": none.
	HeartbeatURLEnv string
	Disabled        bool

	schedule *schedule.Schedule // parsed by the registry
	registry string             // its name
}

// Async says that the target may answer 202 Accepted and work on: the same request
// is then sent again until it answers otherwise. The zero value means no: a 202 is
// a success like any other 2xx.
type Async struct {
	Within time.Duration // how long after the first 202 the work may take
	Poll   time.Duration // until it is asked again, without a Retry-After; default 1m
}

// String returns "none", or both durations in words.
func (a Async) String() string {
	if a == (Async{}) {
		return "none"
	}
	return fmt.Sprintf("within %s, poll %s", a.Within, a.Poll)
}

// Retry defines when a failed call is made again.
type Retry struct {
	// Backoff is the wait before each retry; after the last, the run is dead.
	// Default 500ms, 2s, 5s, 30s. An empty, non-nil slice: no retries.
	Backoff []time.Duration
	// Jitter spreads each wait by up to this fraction either way; default 0.2.
	// Negative: none.
	Jitter float64
	// MaxRetryAfter caps what a target may ask for; default 5m.
	MaxRetryAfter time.Duration
	// For, when set, continues Backoff: each wait is twice the last, at most
	// MaxBackoff (default 5m), as long as all waits add up to at most For. A job of a
	// Registry has the whole list in Backoff.
	For        time.Duration
	MaxBackoff time.Duration
	// Horizon is how long after its first lease a run may still be sent;
	// default: what retries, timeouts and the platform's event ages add up
	// to, at least 1h, and Async.Within on top. A key must outlive it.
	Horizon time.Duration
}

// Overlap is the policy for a scheduled time that comes while an earlier run of its
// job is unfinished.
type Overlap string

const (
	OverlapSkip  Overlap = "skip"
	OverlapQueue Overlap = "queue"
	OverlapAllow Overlap = "allow"
)

// CatchUp is the policy for scheduled times that passed while nothing was running:
// which of them run late.
type CatchUp string

const (
	CatchUpNone   CatchUp = "none"
	CatchUpLatest CatchUp = "latest"
	CatchUpAll    CatchUp = "all"
)
