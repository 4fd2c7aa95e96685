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

// actorWithRequest returns an actor whose request has a key. Its answer is the result as text.
func actorWithRequest(key string) ledger.Actor {
	return ledger.Actor{By: "ann", Why: "asked", Request: &ledger.Request{
		Principal: "ann", Key: key, Fingerprint: "f",
		EncodeAnswer: func(result any) ([]byte, error) { return fmt.Appendf(nil, "%s of %T", key, result), nil },
	}}
}

// storedAnswer returns the answer to a request, "" for none.
func (t *fixture) storedAnswer(key string) string {
	t.Helper()
	answer, found, err := t.FindAnswer(t.ctx, *actorWithRequest(key).Request)
	t.must(err)
	if !found && answer != nil {
		t.Errorf("%s: %q and not found", key, answer)
	}
	return string(answer)
}

// repeatableActions has each kind of action that can be repeated, as requests with keys, and the
// type of its result.
func (t *fixture) repeatableActions() map[string]func(key string) error {
	m := t.job("m")
	j := t.newDeadRuns(2)
	m.admit(m.rangeOf(0, 4))
	t.must(t.ReconcileIncidents(t.ctx, ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "j"}}))
	open, err := t.Incidents(t.ctx, ledger.IncidentFilter{JobID: "j", Open: true, Limit: 1})
	t.must(err)
	on := func(key string, i int) ledger.Action {
		return ledger.Action{Filter: ledger.Filter{IDs: []string{j.id(i)}}, Actor: actorWithRequest(key), Force: true}
	}
	tokens := 0
	enter := func(key string, e ledger.Entry) error {
		tokens++
		e.Actor = actorWithRequest(key)
		_, err := t.Enter(t.ctx, e)
		return err
	}
	return map[string]func(string) error{
		"<nil>": func(key string) error { return t.PauseJob(t.ctx, "m", actorWithRequest(key)) },
		"ledger.ActionResult": func(key string) error {
			_, err := t.Redrive(t.ctx, on(key, 1))
			return err
		},
		"ledger.Entered": func(key string) error {
			e := j.adHoc(fmt.Sprint("t", tokens)) // a repetition makes another run
			e.Trigger = ledger.ByOperator
			return enter(key, e)
		},
		"ledger.Backfilled": func(key string) error {
			_, err := t.Backfill(t.ctx, ledger.BackfillRequest{JobID: "m", Runs: []ledger.RunSpec{m.planned(1, ledger.OverlapQueue)}, Actor: actorWithRequest(key)})
			return err
		},
		"ledger.Incident": func(key string) error {
			_, err := t.AckIncident(t.ctx, ledger.IncidentAction{ID: open[0].ID, Actor: actorWithRequest(key)})
			return err
		},
	}
}

func requestRepeated(t *fixture) {
	acts := t.repeatableActions()
	for result, do := range acts {
		t.must(do("key of " + result))
	}
	before, runs := t.audit(ledger.AuditFilter{}), len(t.all("j"))
	if len(before) != len(acts) {
		t.Fatalf("%d acts are audited as %+v", len(acts), before)
	}
	for result, do := range acts {
		key := "key of " + result
		if err := do(key); !errors.Is(err, ledger.ErrRepeated) || errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s again: %v, want ErrRepeated", key, err)
		}
		if got, want := t.storedAnswer(key), key+" of "+result; got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
	if after := t.audit(ledger.AuditFilter{}); !slices.Equal(after, before) || len(t.all("j")) != runs {
		t.Errorf("the repetitions did something: %+v", after)
	}
}

func requestUnchanging(t *fixture) {
	j := t.job("j")
	all := ledger.Action{Filter: ledger.Filter{JobID: "j", Limit: 10}, Actor: actorWithRequest("cancel")}
	_, err := t.Cancel(t.ctx, all)
	t.must(err)
	t.must(t.ResumeJob(t.ctx, "j", actorWithRequest("resume")))
	_, err = t.Backfill(t.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{j.planned(0, ledger.OverlapQueue)},
		Actor: actorWithRequest("backfill")})
	t.must(err)
	t.wantAudit(t.audit(ledger.AuditFilter{}))
	t.mustEnter(j.entry(j.planned(1, ledger.OverlapAllow)))
	t.must(t.PauseJob(t.ctx, "j", who("bob", "no")))
	if _, err := t.Cancel(t.ctx, all); !errors.Is(err, ledger.ErrRepeated) {
		t.Error(err)
	}
	if err := t.ResumeJob(t.ctx, "j", actorWithRequest("resume")); !errors.Is(err, ledger.ErrRepeated) {
		t.Error(err)
	}
	t.wantState(j.id(1), ledger.Planned, "")
	if t.storedAnswer("cancel") == "" || t.storedAnswer("resume") == "" || t.storedAnswer("backfill") == "" {
		t.Error("an answer is missing")
	}
}

func requestOther(t *fixture) {
	t.job("j")
	t.must(t.PauseJob(t.ctx, "j", actorWithRequest("k")))
	r := *actorWithRequest("k").Request
	r.Fingerprint = "another"
	if _, _, err := t.FindAnswer(t.ctx, r); !errors.Is(err, ledger.ErrOtherRequest) {
		t.Errorf("%v, want ErrOtherRequest", err)
	}
	if t.storedAnswer("K") != "" || t.storedAnswer("") != "" {
		t.Error("the answer of another key")
	}
	bob := actorWithRequest("k")
	bob.Request.Principal = "bob"
	t.must(t.ResumeJob(t.ctx, "j", bob))
}

func requestRefused(t *fixture) {
	j, _ := t.newDead("j")
	no := errors.New("no")
	a := actionOn(j.id(0))
	a.Actor = actorWithRequest("k")
	a.Request.EncodeAnswer = func(any) ([]byte, error) { return nil, no }
	if _, err := t.Ack(t.ctx, a); !errors.Is(err, no) {
		t.Errorf("%v, want %v", err, no)
	}
	if r := t.get(j.id(0)); !r.AckedAt.IsZero() || t.storedAnswer("k") != "" {
		t.Errorf("%+v: want nothing written", r)
	}
	t.wantAudit(t.audit(ledger.AuditFilter{}))
}

func requestRace(t *fixture) {
	j := t.job("j")
	var mu sync.Mutex
	done, n := 0, 0
	t.onEachReplica([]ledger.Store{t.Store, t.secondReplica(), t.secondReplica()}, 2, func(s ledger.Store, _ string) error {
		mu.Lock()
		n++
		e := j.adHoc(fmt.Sprint("t", n))
		mu.Unlock()
		e.Trigger, e.Actor = ledger.ByOperator, actorWithRequest("k")
		_, err := s.Enter(t.ctx, e)
		if errors.Is(err, ledger.ErrRepeated) {
			if _, found, err := s.FindAnswer(t.ctx, *e.Request); err != nil || !found {
				return fmt.Errorf("found %t: %w", found, err)
			}
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		return err
	})
	if made := t.audit(ledger.AuditFilter{}); done != 1 || len(made) != 1 || len(t.all("j")) != 1 {
		t.Errorf("done %d times: %+v", done, made)
	}
}

func requestOfNoSeries(t *fixture) {
	j, _ := t.newDead("j")
	ann := ledger.Actor{By: "ann", Why: "no", Via: ledger.ViaAPI, Request: &ledger.Request{Series: "s"}}
	t.must(t.PauseJob(t.ctx, "j", ann))
	t.must(t.ResumeJob(t.ctx, "j", ann))
	var told []string
	for _, token := range []string{"1", "2"} {
		r := j.repeat(j.id(0), token)
		r.Actor, r.MayDouble = ann, true
		t.mustEnter(r)
		t.wantAudit(t.audit(ledger.AuditFilter{RunID: r.RunID}), "rerun j "+j.id(0)+" by ann: no (api)")
		told = append(told, "rerun j "+j.id(0)+" by ann: no (api)")
	}
	t.wantAudit(t.audit(ledger.AuditFilter{JobID: "j"}), append(told, "resume j  by ann: no (api)", "pause j  by ann: no (api)")...)
}
