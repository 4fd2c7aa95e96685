package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cronce/cronce/ledger"
)

var requestCases = []testCase{
	{"a repeated request of each act changes nothing, and finds its answer", requestRepeated},
	{"a request that changed nothing changes nothing later", requestUnchanging},
	{"a key belongs to one request of one principal", requestOther},
	{"an act whose answer cannot be made is not done", requestRefused},
	{"of many requests with one key at once, one is done", requestRace},
	{"an act that is not on many runs is listed by itself, whatever series it names", requestOfNoSeries},
}

// actorWithRequest is an actor whose request has a key. Its answer is the result as text.
func actorWithRequest(key string) ledger.Actor {
	return ledger.Actor{By: "ann", Why: "asked", Request: &ledger.Request{
		Principal: "ann", Key: key, Fingerprint: "f",
		EncodeAnswer: func(result any) ([]byte, error) { return fmt.Appendf(nil, "%s of %T", key, result), nil },
	}}
}

// storedAnswer is the answer to a request, "" for none.
func (b *fixture) storedAnswer(key string) string {
	b.Helper()
	answer, found, err := b.FindAnswer(b.ctx, *actorWithRequest(key).Request)
	b.must(err)
	if !found && answer != nil {
		b.Errorf("%s: %q and not found", key, answer)
	}
	return string(answer)
}

// repeatableActions has each kind of action that can be repeated, as requests with keys, and the
// type of its result.
func (b *fixture) repeatableActions() map[string]func(key string) error {
	m := b.job("m")
	j := b.newDeadRuns(2)
	m.admit(m.rangeOf(0, 4))
	b.must(b.ReconcileIncidents(b.ctx, ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "j"}}))
	open, err := b.Incidents(b.ctx, ledger.IncidentFilter{JobID: "j", Open: true, Limit: 1})
	b.must(err)
	on := func(key string, i int) ledger.Action {
		return ledger.Action{Filter: ledger.Filter{IDs: []string{j.id(i)}}, Actor: actorWithRequest(key), Force: true}
	}
	tokens := 0
	enter := func(key string, e ledger.Entry) error {
		tokens++
		e.Actor = actorWithRequest(key)
		_, err := b.Enter(b.ctx, e)
		return err
	}
	return map[string]func(string) error{
		"<nil>": func(key string) error { return b.PauseJob(b.ctx, "m", actorWithRequest(key)) },
		"ledger.ActionResult": func(key string) error {
			_, err := b.Redrive(b.ctx, on(key, 1))
			return err
		},
		"ledger.Entered": func(key string) error {
			e := j.adHoc(fmt.Sprint("t", tokens)) // a repetition makes another run
			e.Trigger = ledger.ByOperator
			return enter(key, e)
		},
		"ledger.Backfilled": func(key string) error {
			_, err := b.Backfill(b.ctx, ledger.BackfillRequest{JobID: "m", Runs: []ledger.RunSpec{m.planned(1, ledger.OverlapQueue)}, Actor: actorWithRequest(key)})
			return err
		},
		"ledger.Incident": func(key string) error {
			_, err := b.AckIncident(b.ctx, ledger.IncidentAction{ID: open[0].ID, Actor: actorWithRequest(key)})
			return err
		},
	}
}

func requestRepeated(b *fixture) {
	acts := b.repeatableActions()
	for result, do := range acts {
		b.must(do("key of " + result))
	}
	before, runs := b.audit(ledger.AuditFilter{}), len(b.all("j"))
	if len(before) != len(acts) {
		b.Fatalf("%d acts are audited as %+v", len(acts), before)
	}
	for result, do := range acts {
		key := "key of " + result
		if err := do(key); !errors.Is(err, ledger.ErrRepeated) || errors.Is(err, ledger.ErrUnavailable) {
			b.Errorf("%s again: %v, want ErrRepeated", key, err)
		}
		if got, want := b.storedAnswer(key), key+" of "+result; got != want {
			b.Errorf("answer %q, want %q", got, want)
		}
	}
	if after := b.audit(ledger.AuditFilter{}); !slices.Equal(after, before) || len(b.all("j")) != runs {
		b.Errorf("the repetitions did something: %+v", after)
	}
}

func requestUnchanging(b *fixture) {
	j := b.job("j")
	all := ledger.Action{Filter: ledger.Filter{JobID: "j", Limit: 10}, Actor: actorWithRequest("cancel")}
	_, err := b.Cancel(b.ctx, all)
	b.must(err)
	b.must(b.ResumeJob(b.ctx, "j", actorWithRequest("resume")))
	_, err = b.Backfill(b.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{j.planned(0, ledger.OverlapQueue)},
		Actor: actorWithRequest("backfill")})
	b.must(err)
	b.wantAudit(b.audit(ledger.AuditFilter{}))
	b.mustEnter(j.entry(j.planned(1, ledger.OverlapAllow)))
	b.must(b.PauseJob(b.ctx, "j", who("bob", "no")))
	if _, err := b.Cancel(b.ctx, all); !errors.Is(err, ledger.ErrRepeated) {
		b.Error(err)
	}
	if err := b.ResumeJob(b.ctx, "j", actorWithRequest("resume")); !errors.Is(err, ledger.ErrRepeated) {
		b.Error(err)
	}
	b.wantState(j.id(1), ledger.Planned, "")
	if b.storedAnswer("cancel") == "" || b.storedAnswer("resume") == "" || b.storedAnswer("backfill") == "" {
		b.Error("an answer is missing")
	}
}

func requestOther(b *fixture) {
	b.job("j")
	b.must(b.PauseJob(b.ctx, "j", actorWithRequest("k")))
	r := *actorWithRequest("k").Request
	r.Fingerprint = "another"
	if _, _, err := b.FindAnswer(b.ctx, r); !errors.Is(err, ledger.ErrOtherRequest) {
		b.Errorf("%v, want ErrOtherRequest", err)
	}
	if b.storedAnswer("K") != "" || b.storedAnswer("") != "" {
		b.Error("the answer of another key")
	}
	bob := actorWithRequest("k")
	bob.Request.Principal = "bob"
	b.must(b.ResumeJob(b.ctx, "j", bob))
}

func requestRefused(b *fixture) {
	j, _ := b.newDead("j")
	no := errors.New("no")
	a := actionOn(j.id(0))
	a.Actor = actorWithRequest("k")
	a.Request.EncodeAnswer = func(any) ([]byte, error) { return nil, no }
	if _, err := b.Ack(b.ctx, a); !errors.Is(err, no) {
		b.Errorf("%v, want %v", err, no)
	}
	if r := b.get(j.id(0)); !r.AckedAt.IsZero() || b.storedAnswer("k") != "" {
		b.Errorf("%+v: want nothing written", r)
	}
	b.wantAudit(b.audit(ledger.AuditFilter{}))
}

func requestRace(b *fixture) {
	j := b.job("j")
	var mu sync.Mutex
	done, n := 0, 0
	b.onEachReplica([]ledger.Store{b.Store, b.secondReplica(), b.secondReplica()}, 2, func(s ledger.Store, _ string) error {
		mu.Lock()
		n++
		e := j.adHoc(fmt.Sprint("t", n))
		mu.Unlock()
		e.Trigger, e.Actor = ledger.ByOperator, actorWithRequest("k")
		_, err := s.Enter(b.ctx, e)
		if errors.Is(err, ledger.ErrRepeated) {
			if _, found, err := s.FindAnswer(b.ctx, *e.Request); err != nil || !found {
				return fmt.Errorf("found %t: %w", found, err)
			}
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		return err
	})
	if made := b.audit(ledger.AuditFilter{}); done != 1 || len(made) != 1 || len(b.all("j")) != 1 {
		b.Errorf("done %d times: %+v", done, made)
	}
}

func requestOfNoSeries(b *fixture) {
	j, _ := b.newDead("j")
	ann := ledger.Actor{By: "ann", Why: "no", Via: ledger.ViaAPI, Request: &ledger.Request{Series: "s"}}
	b.must(b.PauseJob(b.ctx, "j", ann))
	b.must(b.ResumeJob(b.ctx, "j", ann))
	var told []string
	for _, token := range []string{"1", "2"} {
		r := j.repeat(j.id(0), token)
		r.Actor, r.MayDouble = ann, true
		b.mustEnter(r)
		b.wantAudit(b.audit(ledger.AuditFilter{RunID: r.RunID}), "rerun j "+j.id(0)+" by ann: no (api)")
		told = append(told, "rerun j "+j.id(0)+" by ann: no (api)")
	}
	b.wantAudit(b.audit(ledger.AuditFilter{JobID: "j"}), append(told, "resume j  by ann: no (api)", "pause j  by ann: no (api)")...)
}
