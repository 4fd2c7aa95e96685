package jobs

import "time"

// MinHorizon is the shortest default horizon of a job, without Async.Within.
const MinHorizon = time.Hour

// MaxClockSkew is the largest difference between the clocks of the ledger and of a target's
// key store that the proof allows. Machines that keep time by NTP differ by milliseconds;
// signed requests commonly allow five minutes.
const MaxClockSkew = 5 * time.Minute

// KeySafeFor returns how long after its first lease a run's key is surely kept by the
// target, so that an operator can redrive the run: the TTL of its keys less a margin, at
// least the horizon. The margin is a sixth of the TTL, or, if it is longer, MaxClockSkew and
// the longest call. cronce itself stops sending at the horizon. 0 for a job that is not of a
// Registry.
func (j Job) KeySafeFor() time.Duration { return j.keySafeFor }

// safeFor returns KeySafeFor for a TTL of the job's keys.
func (j Job) safeFor(ttl time.Duration) time.Duration {
	margin := max(ttl/6, MaxClockSkew+j.Timeout+j.Async.Within)
	return max(j.Retry.Horizon, ttl-margin)
}

// HorizonTerms are the parts whose sum is a job's default horizon: the longest time
// after its first lease at which a run may still have to be sent.
type HorizonTerms struct {
	Backoff  time.Duration // sum of the waits, each lengthened by the whole jitter
	Attempts int           // the first attempt and every retry
	Timeouts time.Duration // Attempts times the job's timeout
	Platform Platform      // late delivery of an event
	Within   time.Duration // Async.Within
}

// HorizonTerms returns the parts of the job's default horizon on a platform. The job
// must be one of a Registry, which has the defaults applied.
func (j Job) HorizonTerms(p Platform) HorizonTerms {
	t := HorizonTerms{Attempts: len(j.Retry.Backoff) + 1, Platform: p, Within: j.Async.Within}
	for _, wait := range j.Retry.Backoff {
		t.Backoff += wait + time.Duration(float64(wait)*max(0, j.Retry.Jitter))
	}
	t.Timeouts = time.Duration(t.Attempts) * j.Timeout
	return t
}

// Sum returns the default horizon: the sum of all terms but Within, at least
// MinHorizon, plus Within.
func (t HorizonTerms) Sum() time.Duration {
	sum := t.Backoff + t.Timeouts + t.Platform.EventAge + t.Platform.LambdaEventAge + t.Platform.QueueAge
	return max(sum, MinHorizon) + t.Within
}
