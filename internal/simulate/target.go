package simulate

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/ledger"
)

// Flaws are ways in which a target can fail to keep keys.
type Flaws struct {
	PurgeAll    bool // the purge ignores how long keys live
	KeyAfter    bool // the key is stored after the effect, not with it
	NoFlight    bool // a call does not see that another of its key is working
	NeverTooOld bool // calls past their sendBefore are taken
	Sullen      bool // new work is refused, for good, once all is well
	Forgets     bool // now and then the work is answered for, and not done
	Unfenced    bool // a worker that lost its key finishes its work
}

// target is a service that keeps keys as the kit does: the effect and the key
// are committed together, a call of a key in flight is told so, a stored answer
// is replayed, another payload is refused, and so is a call past its
// sendBefore whose key is free.
type target struct {
	w     *world
	name  string
	skew  time.Duration // of its clock
	ttl   time.Duration // of its keys
	flaws Flaws

	mu       sync.Mutex
	keys     map[string]*key
	workers  int            // that have taken a key
	calls    map[string]int // by run
	effects  []proof.Effect
	requests []proof.Request
	lists    map[string][][]string // of members, by parent
	down     time.Time
}

// key is one idempotency record.
type key struct {
	payload string
	status  int // 0: in flight
	expires time.Time
	// Of long work: who works on it, and until when it counts as alive.
	worker int
	alive  time.Time
}

func (w *world) newTarget(name string, ttl time.Duration) *target {
	r := w.Dice("target "+name, 0)
	t := &target{
		w: w, name: name, ttl: ttl, skew: between(r, 0, 4*time.Minute) - 2*time.Minute, flaws: w.options.Target,
		keys: map[string]*key{}, calls: map[string]int{}, lists: map[string][][]string{},
	}
	w.targets[name] = t
	return t
}

func (w *world) target(name string) *target { return w.targets[name] }

func (t *target) now() time.Time { return t.w.Now().Add(t.skew) }

// serve answers one call, which left its sender at that time.
func (t *target) serve(c executor.Call, sent time.Time) executor.Answer {
	name := c.Registry + " " + t.w.options.Key(c, t.w)
	payload := fmt.Sprintf("%s %s %s %s %s", c.Work.Call.Method, c.Work.Call.Path, c.Work.Call.Body, c.Work.Call.Scopes, c.Work.Call.Headers)
	if c.List {
		payload = "the list at " + c.Work.Call.Path
	}
	t.mu.Lock()
	t.calls[c.RunID]++
	n := t.calls[c.RunID]
	at := len(t.requests)
	t.requests = append(t.requests, proof.Request{RunID: c.RunID, Text: payload, Attempt: c.Attempt, Sent: sent})
	t.mu.Unlock()
	t.w.note(func(tally *Tally) { tally.Calls++ })
	answer := t.answer
	if c.List {
		answer = t.list
	}
	a := answer(c, name, payload, t.w.Dice(t.name+c.RunID, n))
	t.mu.Lock()
	t.requests[at].Reason = a.Reason
	t.mu.Unlock()
	return a
}

// rise ends an outage of the target.
func (t *target) rise() {
	t.mu.Lock()
	t.down = time.Time{}
	t.mu.Unlock()
}

func (t *target) answer(c executor.Call, name, payload string, r *rand.Rand) executor.Answer {
	deadline := time.Now().Add(between(r, 0, 5*time.Second))
	for {
		a, mine := t.look(c, name, payload)
		if mine {
			return t.work(c, name, payload, r)
		}
		if a.Kind != ledger.AnswerInProgress || !time.Now().Before(deadline) {
			return a
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// look decides what a call's key says; mine: the key is the call's now.
func (t *target) look(c executor.Call, name, payload string) (a executor.Answer, mine bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if time.Now().Before(t.down) {
		return executor.Answer{Kind: ledger.AnswerThrottled, Status: 503}, false
	}
	k := t.keys[name]
	if k != nil && k.status != 0 && !now.Before(k.expires) {
		k = nil
	}
	switch {
	case k != nil && k.payload != payload:
		return executor.Answer{Kind: ledger.AnswerRefused, Status: 409, Reason: ledger.ReasonPayloadMismatch}, false
	case k != nil && k.status == 0 && k.worker > 0 && now.Before(k.alive):
		return executor.Answer{Kind: ledger.AnswerAccepted, Status: 202, Progress: "working"}, false
	case k != nil && k.status == 0 && k.worker == 0 && !t.flaws.NoFlight:
		return executor.Answer{Kind: ledger.AnswerInProgress, Status: 409, RetryAfter: time.Second}, false
	case k != nil && k.status == 200:
		t.w.note(func(tally *Tally) { tally.Replays++ })
		return executor.Answer{Kind: ledger.AnswerReplayed, Status: 200}, false
	case k != nil && k.status != 0:
		return executor.Answer{Kind: ledger.AnswerRefused, Status: k.status, Reason: ledger.ReasonPermanent}, false
	case !now.Before(c.SendBefore) && !t.flaws.NeverTooOld:
		return executor.Answer{Kind: ledger.AnswerRefused, Status: 412, Reason: ledger.ReasonKeyExpired}, false
	}
	t.keys[name] = &key{payload: payload}
	return executor.Answer{}, true
}

// work does what the call asks for, in a transaction with its key.
func (t *target) work(c executor.Call, name, payload string, r *rand.Rand) executor.Answer {
	if c.Work.Call.Within > 0 {
		return t.accept(c, name, payload, r)
	}
	begun := t.now()
	now := t.w.faultRates
	if t.w.isCalm() {
		now = faultRates{}
	}
	time.Sleep(between(r, time.Millisecond, 50*time.Millisecond))
	if chance(r, now.crawling) {
		time.Sleep(between(r, time.Second, pick(r, 5*time.Second, 20*time.Second, 100*time.Second)))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case chance(r, now.failing): // rolled back, the key with it
		delete(t.keys, name)
		return executor.Answer{Kind: ledger.AnswerFailed, Status: 500}
	case chance(r, now.permanent):
		t.keys[name] = &key{payload: payload, status: 422, expires: t.now().Add(t.ttl)}
		return executor.Answer{Kind: ledger.AnswerRefused, Status: 422, Reason: ledger.ReasonPermanent}
	}
	if t.flaws.Sullen && t.w.isCalm() {
		t.keys[name] = &key{payload: payload, status: 422, expires: t.now().Add(t.ttl)}
		return executor.Answer{Kind: ledger.AnswerRefused, Status: 422, Reason: ledger.ReasonPermanent}
	}
	if t.flaws.Forgets && chance(r, 0.1) {
		t.keys[name] = &key{payload: payload, status: 200, expires: t.now().Add(t.ttl)}
		return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
	}
	broken := chance(r, now.broken)
	t.effects = append(t.effects, proof.Effect{RunID: c.RunID, Begun: begun, At: t.now()})
	if t.flaws.KeyAfter && broken {
		delete(t.keys, name)
	} else {
		t.keys[name] = &key{payload: payload, status: 200, expires: t.now().Add(t.ttl)}
	}
	if broken { // committed, and nobody was told
		return executor.Answer{Kind: ledger.AnswerFailed, Status: 502}
	}
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
}

// purge removes the keys that have expired.
func (t *target) purge() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, k := range t.keys {
		if k.status != 0 && (t.flaws.PurgeAll || !t.now().Before(k.expires)) {
			delete(t.keys, name)
		}
	}
}
