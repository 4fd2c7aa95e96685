package jobs

import "time"

// MinHorizon is the shortest default horizon of a job, without Async.Within.
const MinHorizon = time.Hour

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
