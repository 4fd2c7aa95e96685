package retention_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/retention"
)

// Any registry that the proof accepts, on any clocks within Skew, whatever
// delays each call: breakers, queues, crashes, redrives, suspended processes
// and platform retries are all just later sends of the same key.
func TestNoAcceptedCallMeetsAForgottenKey(t *testing.T) {
	revision := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		j, ttl := drawAccepted(t)
		// The ledger's clock is the reference; the first lease is at revision.
		// The last redrive moves the send-before time to the end of KeySafeFor.
		sendBefore := revision.Add(j.KeySafeFor())
		target := keyStore{ttl: ttl}
		// The executor sends nothing at or after sendBefore.
		sends := rapid.SliceOfN(drawWithin(0, j.KeySafeFor()-1), 1, 20).Draw(t, "sends")
		slices.Sort(sends)
		for _, after := range sends {
			skew := drawWithin(-jobs.MaxClockSkew, jobs.MaxClockSkew).Draw(t, "skew")
			target.receive(t, revision.Add(after+skew), sendBefore)
		}
	})
}

// keyStore is a target with the kit: it knows its own clock only.
type keyStore struct {
	ttl       time.Duration
	expiresAt time.Time
}

func (s *keyStore) receive(t *rapid.T, now, sendBefore time.Time) {
	switch {
	case !now.Before(sendBefore): // 412 run_too_late
	case s.expiresAt.IsZero():
		s.expiresAt = now.Add(s.ttl)
	case !now.Before(s.expiresAt):
		t.Fatalf("accepted at %v, before %v, though the key expired at %v", now, sendBefore, s.expiresAt)
	}
}

// drawWithin favours the ends, where the proof is tight.
func drawWithin(least, most time.Duration) *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.Just(least),
		rapid.Just(most),
		rapid.Map(rapid.Int64Range(int64(least), int64(most)), func(ns int64) time.Duration { return time.Duration(ns) }),
	)
}

// drawAccepted draws the job of a registry that the proof accepts, and its keys' TTL.
func drawAccepted(t *rapid.T) (jobs.Job, time.Duration) {
	r := drawRegistry(t)
	if len(retention.Prove(r)) > 0 {
		t.Skip("refused by the proof")
	}
	j, _ := r.Job("pay")
	ttl, _ := r.TTL(j.KeyScope)
	return j, ttl
}

func drawRegistry(t *rapid.T) *jobs.Registry {
	duration := func(label string, least, most time.Duration) time.Duration {
		return drawWithin(least, most).Draw(t, label)
	}
	ages := jobs.Platform{
		EventAge:       duration("event age", -1, 24*time.Hour),
		LambdaEventAge: duration("lambda age", -1, 6*time.Hour),
		QueueAge:       duration("queue age", -1, 24*time.Hour),
	}
	j := job(func(j *jobs.Job) {
		j.Timeout = duration("timeout", time.Millisecond, time.Hour)
		j.Retry.Backoff = rapid.SliceOfN(drawWithin(0, time.Hour), 0, 8).Draw(t, "backoff")
		j.Retry.Jitter = rapid.Float64Range(0.01, 1).Draw(t, "jitter")
		if rapid.Bool().Draw(t, "own horizon") {
			j.Retry.Horizon = duration("horizon", jobs.MaxClockSkew, 40*time.Hour)
		}
	})
	ttl := jobs.MaxClockSkew + duration("ttl beyond horizon and skew", -jobs.MaxClockSkew, 3*jobs.MaxClockSkew)
	ttl += horizonOf(t, ages, j)
	r, err := jobs.NewRegistry(jobs.Name("acme"), ages, j, jobs.KeyTTL{Scope: payments, TTL: max(ttl, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func horizonOf(t *rapid.T, ages jobs.Platform, j jobs.Job) time.Duration {
	r, err := jobs.NewRegistry(jobs.Name("acme"), ages, j)
	if err != nil {
		t.Fatal(err)
	}
	checked, _ := r.Job(j.ID)
	return checked.Retry.Horizon
}
