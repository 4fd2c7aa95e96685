package retention_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/retention"
)

// simulatedRun is a run under one key, from its first lease on, in true time. Every
// clock that is read may be off by half of Skew either way, so that any two
// differ by Skew at most.
type simulatedRun struct {
	*rapid.T
	now        time.Time
	sendBefore time.Time // on the ledger's clock
	ttl        time.Duration
	expiresAt  time.Time // of the key, on the target's clock; zero: none yet
	effects    int
}

func (r *simulatedRun) clock(whose string) time.Time {
	return r.now.Add(drawWithin(-jobs.MaxClockSkew/2, jobs.MaxClockSkew/2).Draw(r.T, whose))
}

func (r *simulatedRun) wait(why string, most time.Duration) {
	r.now = r.now.Add(drawWithin(0, most).Draw(r.T, why))
}

// send is the executor's: nothing is sent at or after sendBefore. The process
// may be suspended, and the network slow, between that look and the arrival.
func (r *simulatedRun) send() {
	if !r.clock("executor's clock").Before(r.sendBefore) {
		return
	}
	r.wait("suspended, or on the way", 3*r.ttl)
	r.receive()
}

// receive is the kit's: a call past its Cronce-Send-Before is refused, unless
// its answer is stored. The purge may have been there at any moment, which
// makes no difference: an expired key is free either way.
func (r *simulatedRun) receive() {
	now := r.clock("target's clock")
	remembered := !r.expiresAt.IsZero() && now.Before(r.expiresAt)
	switch {
	case remembered: // replayed
	case !now.Before(r.sendBefore): // 412 run_too_late
	default:
		r.effects++
		r.expiresAt = now.Add(r.ttl)
	}
}

// simulate lets anything happen to the run.
func (r *simulatedRun) simulate() {
	const long = 48 * time.Hour
	delays := map[string]func(){
		"backoff":                                           func() { r.wait("backoff", time.Hour) },
		"the breaker is open":                               func() { r.wait("breaker", long) },
		"waits for a free caller":                           func() { r.wait("queue", long) },
		"crash, the lease expires":                          func() { r.wait("lease", time.Minute) },
		"the ledger is down":                                func() { r.wait("outage", long) },
		"dead, redriven by hand":                            func() { r.wait("operator", 10*long) },
		"the platform fires again":                          func() { r.wait("event age", long) },
		"asked again after a lost answer, at the same time": func() {},
		"the last moment": func() { // where the proof is tight
			if end := r.sendBefore.Add(-time.Nanosecond); end.After(r.now) {
				r.now = end
			}
		},
	}
	names := slices.Sorted(maps.Keys(delays))
	for range rapid.IntRange(1, 12).Draw(r.T, "sends") {
		delays[rapid.SampledFrom(names).Draw(r.T, "what happens")]()
		r.send()
	}
}

func TestWhateverBecomesOfARunItHasOneEffect(t *testing.T) {
	lease := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		j, ttl := drawAccepted(t)
		r := &simulatedRun{T: t, now: lease, ttl: ttl}
		r.sendBefore = r.clock("ledger's clock").Add(j.Retry.Horizon)
		if rapid.Bool().Draw(t, "stateless") { // a Lambda counts from the scheduled time, which is earlier
			r.sendBefore = lease.Add(-drawWithin(0, time.Hour).Draw(t, "event's delay")).Add(j.Retry.Horizon)
		}
		r.simulate()
		if r.effects > 1 {
			t.Fatalf("%d effects under one key", r.effects)
		}
	})
}

// The proof asks for no more than it must: with two nanoseconds less there is
// a run with two effects.
func TestTheProofIsTight(t *testing.T) {
	const horizon = 6 * time.Hour
	lease := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		rule    string
		ttl     time.Duration
		effects int
	}{
		{"the least that the proof accepts", horizon + jobs.MaxClockSkew + 1, 1},
		{"two nanoseconds less", horizon + jobs.MaxClockSkew - 1, 2},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			r := registry(t, jobs.KeyTTL{Scope: payments, TTL: tc.ttl}, job(func(j *jobs.Job) { j.Retry.Horizon = horizon }))
			if accepted := len(retention.Prove(r)) == 0; accepted != (tc.effects == 1) {
				t.Fatalf("accepted: %t", accepted)
			}
			target := keyStore{ttl: tc.ttl}
			effects := 0
			for _, now := range []time.Time{lease.Add(-jobs.MaxClockSkew), lease.Add(horizon - 1)} {
				if target.takes(now, lease.Add(horizon)) {
					effects++
				}
			}
			if effects != tc.effects {
				t.Errorf("%d effects, want %d", effects, tc.effects)
			}
		})
	}
}

// takes reports whether a call at now, by the store's clock, is new work.
func (s *keyStore) takes(now, sendBefore time.Time) bool {
	if !now.Before(sendBefore) || !s.expiresAt.IsZero() && now.Before(s.expiresAt) {
		return false
	}
	s.expiresAt = now.Add(s.ttl)
	return true
}
