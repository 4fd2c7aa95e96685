package executor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// notReleasing is the ledger of a process that stops before it makes members.
type notReleasing struct{ executor.Ledger }

func (notReleasing) ReleaseMembers(context.Context, ledger.ReleaseRequest) (ledger.Released, error) {
	return ledger.Released{}, nil
}

// tenantsOnce answers the first request for a list as it is told, and each later one with a and b.
func tenantsOnce(first executor.Answer) *target {
	svc := newTarget(nil)
	lists := 0
	svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
		if !c.List {
			return svc.apply(c)
		}
		if lists++; lists == 1 {
			return first
		}
		return listed(`["a","b"]`)
	}
	return svc
}

// A run keeps the definition with which it was planned, whether the job is edited before its list
// is fetched or between list and members.
func TestAnEditDoesNotReachTheMembersOfARun(t *testing.T) {
	for name, first := range map[string]executor.Answer{
		"before the list":          {Kind: ledger.AnswerThrottled, Status: 503, RetryAfter: 5 * time.Minute},
		"between list and members": {Kind: ledger.AnswerFresh, Status: 200, Keys: []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, svc := memory.New(), tenantsOnce(first)
				j := billing(jobs.Each{Path: "/v1/tenants"})
				_, stop := start(t, executor.Config{Registry: registry(t, j), Ledger: notReleasing{l}, Caller: svc})
				fromTheHour(time.Minute)
				stop()
				edited := billing(jobs.Each{Path: "/v2/customers", InFlight: 1})
				edited.Path, edited.Body = "/v2/{{key}}", map[string]string{"v": "2"}
				_, stop = start(t, executor.Config{Registry: registry(t, edited), Ledger: l, Caller: svc})
				time.Sleep(30 * time.Minute)
				stop()
				runs := mustList(t, l, ledger.Filter{WithMembers: true})
				if len(runs) != 3 {
					t.Fatalf("%d runs: %+v", len(runs), runs)
				}
				for _, r := range runs {
					if r.State != ledger.Succeeded || r.Revision != runs[0].Revision {
						t.Errorf("%s is %s, of revision %d", r.ID, r.State, r.Revision)
					}
				}
				for _, c := range svc.calls {
					path := c.Work.Call.Path
					asPlanned := strings.HasPrefix(path, "/v1/tenants/") && strings.Contains(string(c.Work.Call.Body), "tenant")
					if c.List {
						asPlanned = path == "/v1/tenants"
					}
					if !asPlanned {
						t.Errorf("sent %s %s", path, c.Work.Call.Body)
					}
				}
			})
		})
	}
}

// A redrive does not fetch the list again. A member that is no longer in it is called under its
// key, and the target's answer decides.
func TestARedriveCallsAMemberThatHasVanished(t *testing.T) {
	for answered, want := range map[int]ledger.State{404: ledger.Dead, 200: ledger.Succeeded} {
		t.Run(fmt.Sprint(answered), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, svc, lists := memory.New(), newTarget(nil), 0
				svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
					switch {
					case c.List && lists == 0:
						lists++
						return listed(`["a","b","c"]`)
					case c.List:
						lists++
						return listed(`["a","c"]`)
					case strings.Contains(c.RunID, "::b@") && (n == 1 || answered == 404):
						return executor.Answer{Kind: ledger.AnswerRefused, Status: 404, Reason: ledger.ReasonPermanent, Error: "HTTP 404"}
					}
					return svc.apply(c)
				}
				_, stop := start(t, executor.Config{Registry: registry(t, billing(jobs.Each{Path: "/v1/tenants"})), Ledger: l, Caller: svc})
				defer stop()
				fromTheHour(time.Minute)
				run := mustList(t, l, ledger.Filter{JobID: "bill"})[0]
				got, err := l.Redrive(t.Context(), ledger.Action{Filter: ledger.Filter{IDs: []string{run.ID}}, Actor: ann})
				if err != nil || len(got.Changed) != 1 {
					t.Fatalf("%+v %v, was %s", got, err, run.State)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				calls := map[string]int{}
				for _, c := range svc.calls {
					if !c.List {
						member, _, _ := strings.Cut(c.RunID, "@")
						calls[member]++
					}
				}
				run = mustList(t, l, ledger.Filter{JobID: "bill"})[0]
				if fmt.Sprint(calls) != "map[bill::a:1 bill::b:2 bill::c:1]" || lists != 1 || run.State != want || run.Fan.Members != 3 {
					t.Errorf("%d lists, calls %v, %s of %d members", lists, calls, run.State, run.Fan.Members)
				}
			})
		})
	}
}

// Members of the job may be answered with 202. The list may not.
func TestAListOfLongWorkIsNotAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := tenantsOnce(executor.Answer{Kind: ledger.AnswerFresh, Status: 202})
		j := billing(jobs.Each{Path: "/v1/tenants"})
		j.Async = jobs.Async{Within: time.Hour}
		_, run, attempts := bills(t, svc, j, 5*time.Minute)
		if run.State != ledger.Succeeded || len(attempts) != 2 || !run.AcceptedAt.IsZero() ||
			attempts[0].Status != 202 || attempts[0].Answer != ledger.AnswerFailed {
			t.Errorf("%+v %+v", run, attempts)
		}
		for _, c := range svc.calls {
			if (c.Call.Within > 0) == c.List {
				t.Errorf("a call (list: %t) may be accepted for %s", c.List, c.Call.Within)
			}
		}
	})
}

func TestAListOfOneItemTooManyIsNotFrozen(t *testing.T) {
	for more, want := range []ledger.State{ledger.FannedOut, ledger.Dead} {
		t.Run(string(want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var list strings.Builder
				for i := range jobs.DefaultEachMax + more {
					fmt.Fprintf(&list, ",%d", i)
				}
				l, reg := memory.New(), registry(t, billing(jobs.Each{Path: "/v1/tenants"}))
				svc := tenantsOnce(executor.Answer{Kind: ledger.AnswerFresh, Status: 200, Keys: strings.Split(list.String()[1:], ",")})
				_, stop := start(t, executor.Config{Registry: reg, Ledger: notReleasing{l}, Caller: svc})
				fromTheHour(time.Minute)
				stop()
				run := mustList(t, l, ledger.Filter{JobID: "bill"})[0]
				_, attempts, err := l.Get(t.Context(), run.ID)
				page, err2 := l.Members(t.Context(), ledger.MemberFilter{Parent: run.ID, Limit: 10})
				members := jobs.DefaultEachMax * (1 - more)
				if err != nil || err2 != nil || run.State != want || run.Fan.Members != members || len(page.Members) != min(10, members) {
					t.Fatalf("%+v, %d members, %v %v", run, len(page.Members), err, err2)
				}
				if says := "the list has more than 100000 items; raise each.max if that is right"; more == 1 && attempts[0].Error != says {
					t.Errorf("%q, want %q", attempts[0].Error, says)
				}
			})
		})
	}
}

// A process of a release without each would send a parent's call as it is, for the member
// {{key}}. It does not know the form of its key, and refuses to send it; what is sent has the
// form of the target.
func TestAParentIsNotSentByAProcessThatDoesNotKnowLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := tenantsOnce(executor.Answer{Kind: ledger.AnswerFresh, Status: 200, Keys: []string{"a"}})
		j := billing(jobs.Each{Path: "/v1/tenants"})
		reg, err := jobs.NewRegistry(j, jobs.Name("test"), jobs.Target{Name: "svc", URLEnv: "SVC_URL", Key: jobs.Key{Form: jobs.KeyUUID4}},
			jobs.Cleanup{Schedule: "0 3 1 1 *"})
		if err != nil {
			t.Fatal(err)
		}
		l := memory.New()
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		fromTheHour(time.Minute)
		stop()
		for _, r := range mustList(t, l, ledger.Filter{WithMembers: true}) {
			if form := jobs.KeyForm(r.Call.KeyForm); r.State != ledger.Succeeded || form.Known() == (r.Call.Each != nil) {
				t.Errorf("%s is %s, the form of its key %q", r.ID, r.State, form)
			}
		}
		for _, c := range svc.calls {
			if form := c.Work.Call.KeyForm; form != string(jobs.KeyUUID4) {
				t.Errorf("%s (list: %t) is sent with a key of the form %q", c.RunID, c.List, form)
			}
		}
		// Rows that were frozen before have the target's form alone.
		if c := executor.MemberCall(ledger.CallSpec{KeyForm: "uuid4"}, ledger.Member{Key: "a"}); c.KeyForm != "uuid4" {
			t.Errorf("a member of an older row has the form %q", c.KeyForm)
		}
	})
}

// Nothing was sent by the process that refused, so a redrive begins with the list.
func TestARunThatAnOlderProcessRefusedIsRedriven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := tenantsOnce(executor.Answer{Kind: ledger.AnswerRefused, Reason: ledger.ReasonPermanent, Error: "not sent: the form of key is not known"})
		l := memory.New()
		_, stop := start(t, executor.Config{Registry: registry(t, billing(jobs.Each{Path: "/v1/tenants"})), Ledger: l, Caller: svc})
		defer stop()
		fromTheHour(time.Minute)
		run := mustList(t, l, ledger.Filter{JobID: "bill"})[0]
		if run.State != ledger.Dead {
			t.Fatalf("%+v", run)
		}
		if _, err := l.Redrive(t.Context(), ledger.Action{Filter: ledger.Filter{IDs: []string{run.ID}}, Actor: ann}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, r := range mustList(t, l, ledger.Filter{JobID: "bill", WithMembers: true}) {
			attempts := 1
			if r.Parent == "" {
				attempts = 2
			}
			if r.State != ledger.Succeeded || r.Attempt != attempts {
				t.Errorf("%s is %s after attempt %d", r.ID, r.State, r.Attempt)
			}
		}
		if n := len(mustList(t, l, ledger.Filter{Parent: run.ID})); n != 2 {
			t.Errorf("%d members", n)
		}
	})
}
