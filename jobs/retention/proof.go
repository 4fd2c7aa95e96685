// Package retention proves, before a registry runs, that the keys of each job outlive
// every call that can still be accepted under them. check and every start use it. It
// computes from the registry alone: it reads no clock and asks no target.
package retention

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
)

// Proof shows for one job that no call is accepted once its key may have been forgotten.
// It holds if TTL > Horizon + Skew.
//
// A run's send-before time is its first lease plus the horizon; for a Lambda without a
// ledger, its scheduled time plus the horizon. A redrive moves it to the first lease plus
// KeySafeFor at most, which is less than TTL - Skew too. Nothing is sent at or after it, and the
// kit refuses what arrives later by the target's clock. The key is claimed at the first
// lease or later, on a clock that is at most Skew behind. So it expires after first
// lease - Skew + TTL, which is after the send-before time. What breakers, queues,
// crashes, redrives and suspended processes do in between does not matter.
type Proof struct {
	JobID    string
	KeyScope string
	TTL      time.Duration
	// Pattern is the keyTTLs scope that the TTL is from; "" is the default.
	Pattern string
	// Horizon is how long after its first lease a run of the job may be sent.
	Horizon time.Duration
	// Terms are the parts of the default horizon. Horizon differs from their sum only if
	// the job sets retry.horizon.
	Terms jobs.HorizonTerms
	Skew  time.Duration // jobs.MaxClockSkew
}

// Proofs returns the Proof of every job that calls a target, by job ID, then of every
// template, disabled ones included. Built-in jobs have no key at a target.
func Proofs(r *jobs.Registry) []Proof {
	var proofs []Proof
	for j := range r.JobsAndTemplates() {
		if j.Target == jobs.BuiltinTarget {
			continue
		}
		proofs = append(proofs, ProofOf(r, j))
	}
	return proofs
}

// ProofOf returns the Proof of one job of a registry.
func ProofOf(r *jobs.Registry, j jobs.Job) Proof {
	p := Proof{JobID: j.ID, KeyScope: j.KeyScope, Skew: jobs.MaxClockSkew}
	p.TTL, p.Pattern = r.TTL(j.KeyScope)
	p.Horizon, p.Terms = j.Retry.Horizon, j.HorizonTerms(r.Platform())
	return p
}

// Holds reports whether the key outlives every call that can be accepted.
func (p Proof) Holds() bool { return p.TTL > p.Horizon+p.Skew }

// Prove returns a problem (jobs.CodeRetention) for each job whose keys do not
// outlive its calls, with the numbers and the ways to fix it. If there is none, the
// result is empty. A registry with a problem is not run.
func Prove(r *jobs.Registry) jobs.Problems {
	var problems jobs.Problems
	for _, p := range Proofs(r) {
		if !p.Holds() {
			problems = append(problems, r.JobProblem(p.JobID, "keyScope", jobs.CodeRetention, p.refusal()))
		}
	}
	problems.Sort()
	return problems
}

// CheckFile reads a registry's file and lists all of its problems: what
// jobs.CheckFile finds, and keys that do not outlive their calls. The registry is
// nil if the file itself has problems. Do not run the registry if there are problems.
func CheckFile(path string, lookup func(string) (string, bool)) (*jobs.Registry, jobs.Problems) {
	r, problems := jobs.CheckFile(path, lookup)
	if r != nil {
		problems = append(problems, Prove(r)...)
		problems.Sort()
	}
	return r, problems
}

func (p Proof) refusal() string {
	return fmt.Sprintf("keys of %q live %s (%s), but a call may be sent up to %s after the first (%s), and clocks may differ by %s: "+
		"a late retry would pass for new work. %s",
		p.KeyScope, plural.Duration(p.TTL), p.rule(), plural.Duration(p.Horizon), p.arithmetic(), plural.Duration(p.Skew), p.remedy())
}

func (p Proof) rule() string {
	if p.Pattern == "" {
		return "the default, since no keyTTLs scope covers it"
	}
	return fmt.Sprintf("keyTTLs scope %q", p.Pattern)
}

// arithmetic explains the horizon by its terms, or says that it is set.
func (p Proof) arithmetic() string {
	t := p.Terms
	if p.Horizon != t.Sum() {
		return "retry.horizon; by default " + plural.Duration(t.Sum())
	}
	terms := []string{
		"backoff with jitter " + plural.Duration(t.Backoff),
		plural.Of(t.Attempts, "timeout") + " " + plural.Duration(t.Timeouts),
		"eventAge " + plural.Duration(t.Platform.EventAge),
		"lambdaEventAge " + plural.Duration(t.Platform.LambdaEventAge),
		"queueAge " + plural.Duration(t.Platform.QueueAge),
	}
	sum := strings.Join(terms, " + ") + ", at least " + plural.Duration(jobs.MinHorizon)
	if t.Within > 0 {
		sum += ", and async.within " + plural.Duration(t.Within) + " on top"
	}
	return sum
}

// remedy names the ways that would make the proof hold, each by itself.
func (p Proof) remedy() string {
	ways := []string{fmt.Sprintf("raise the TTL of the target's keys, and keyTTLs of the scope %q, above %s",
		p.KeyScope, plural.Duration(p.Horizon+p.Skew))}
	if room := p.TTL - p.Skew; room > 0 {
		ways = append(ways, fmt.Sprintf("set the job's retry.horizon below %s, so that later retries are not made", plural.Duration(room)))
		ways = append(ways, p.lower(room)...)
	}
	return "To correct it, " + strings.Join(ways, "; or ")
}

// lower names the terms that, made less, bring the horizon below room. None does
// when the horizon is set, or would have to come below the least that it is by
// default.
func (p Proof) lower(room time.Duration) (ways []string) {
	t := p.Terms
	if p.Horizon != t.Sum() || room <= jobs.MinHorizon+t.Within {
		return nil
	}
	excess := p.Horizon - room
	for _, term := range []struct {
		name  string
		total time.Duration
		parts int // that the total is of
	}{
		{"platform.eventAge", t.Platform.EventAge, 1},
		{"platform.lambdaEventAge", t.Platform.LambdaEventAge, 1},
		{"platform.queueAge", t.Platform.QueueAge, 1},
		{"the job's timeout", t.Timeouts, t.Attempts},
		{"its backoff, jitter included,", t.Backoff, 1},
	} {
		if most := (term.total - excess) / time.Duration(term.parts); most > 0 {
			ways = append(ways, fmt.Sprintf("lower %s to less than %s", term.name, plural.Duration(most)))
		}
	}
	if len(ways) == 0 {
		ways = append(ways, fmt.Sprintf("take more than %s off platform's ages, timeouts and backoff together", plural.Duration(excess)))
	}
	return ways
}
