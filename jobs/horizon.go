package jobs

import "time"

// MinHorizon is the shortest horizon that a job gets by default.
const MinHorizon = time.Hour

// HorizonTerms are the parts whose sum is a job's default horizon: the longest time
// after its first lease at which a run may still have to be sent.
type HorizonTerms struct {
	Backoff  time.Duration // every wait, each stretched by the whole jitter
	Attempts int           // the first and every retry
	Timeouts time.Duration // every attempt runs into its timeout
	Platform Platform      // late delivery of one event
	Within   time.Duration // the work of a target that answered 202
}

// Terms returns the parts of a job's default horizon under a platform. The job must
// have its defaults applied.
func Terms(j Job, p Platform) HorizonTerms {
	t := HorizonTerms{Attempts: len(j.Retry.Backoff) + 1, Platform: p, Within: j.Async.Within}
	for _, wait := range j.Retry.Backoff {
		t.Backoff += wait + time.Duration(float64(wait)*max(0, j.Retry.Jitter))
	}
	t.Timeouts = time.Duration(t.Attempts) * j.Timeout
	return t
}

// Sum returns the horizon: at least MinHorizon, plus Within.
func (t HorizonTerms) Sum() time.Duration {
	sum := t.Backoff + t.Timeouts + t.Platform.EventAge + t.Platform.LambdaEventAge + t.Platform.QueueAge
	return max(sum, MinHorizon) + t.Within
}
