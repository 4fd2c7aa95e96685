package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// freezeAtOnce is the number of members in one part of a list.
	freezeAtOnce = 5000
	// maxPageWaits is the number of times a target may ask to slow down for one page.
	maxPageWaits = 20
	// maxEmptyPages limits the pages without an item. A target's links may form a circle.
	maxEmptyPages = 1000
	// releaseAtOnce bounds the members that one release leases.
	releaseAtOnce = 500
	// slowPoll is the interval at which a process looks for parents if its registry has no
	// job with each. Their jobs may have been removed.
	slowPoll = 10 * time.Second
	// parentForm begins the form of key in a parent's call, which is sent by its members alone.
	// A process of a release without each does not know the form, and refuses to send the call.
	parentForm = "each:"
)

// fetchList fetches the list of a parent, freezes it, and returns the answer to the last page
// and how many members there are. It reports false if the lease or the ledger was lost.
func (t *attempter) fetchList(ctx context.Context, c Call) (a Answer, members int, ok bool) {
	each, list := c.Call.Each, c
	list.List, list.Call.Method, list.Call.Path, list.Call.Body, list.Call.Within = true, "GET", each.Path, nil, 0
	list.Call.KeyForm = strings.TrimPrefix(list.Call.KeyForm, parentForm)
	var all []ledger.Member
	var throttled throttle
	seen, empty := map[string]string{}, 0
	for more := true; more; more = list.Page != "" {
		a = t.page(ctx, list, &throttled)
		if a.Unsent && list.Page != "" { // earlier pages were sent, so the attempt was made
			a.Unsent, a.Kind, a.Error = false, ledger.AnswerFailed, "a later page of the list: "+a.Error
		}
		if a.Unsent || a.Kind != ledger.AnswerFresh && a.Kind != ledger.AnswerReplayed {
			return a, 0, true
		}
		if a.Keys == nil { // such as a 202, which says that the list is still being made
			a.Kind, a.Error = ledger.AnswerFailed, fmt.Sprintf("HTTP %d without a list: a list is answered at once", a.Status)
			return a, 0, true
		}
		if len(a.Keys) == 0 {
			empty++
		}
		var err error
		switch {
		case empty > maxEmptyPages:
			err = fmt.Errorf("it has more than %d pages without an item; check where its links lead", maxEmptyPages)
		default:
			all, err = addMembers(all, seen, c.RunID, a.Keys)
		}
		if err != nil { // the list may have changed between two pages
			a.Kind, a.Error = ledger.AnswerFailed, "the list: "+err.Error()
			return a, 0, true
		}
		if len(all) > each.Max {
			a.Kind, a.Reason = ledger.AnswerRefused, ledger.ReasonPermanent
			a.Error = fmt.Sprintf("the list has more than %d items; raise each.max if that is right", each.Max)
			return a, 0, true
		}
		list.Page, a.Keys = a.Next, nil
	}
	a.Detail = fmt.Sprintf(`{"members":%d}`, len(all))
	return a, len(all), t.freeze(ctx, ledger.Lease{RunID: c.RunID, Token: c.Token}, all)
}

// page fetches a page of a list at the pace that the target can take. A later page that it asks
// to wait for is fetched again, for a while: else each attempt would end at the same page.
func (t *attempter) page(ctx context.Context, list Call, throttled *throttle) (a Answer) {
	for range maxPageWaits {
		pause(ctx, throttled.wait())
		throttled.started()
		start := time.Now()
		a = t.call(ctx, list)
		throttled.answered(a, time.Since(start))
		if a.Unsent || !a.SlowDown || list.Page == "" || ctx.Err() != nil {
			return a
		}
		pause(ctx, capped(a.RetryAfter, list.Call.MaxRetryAfter))
	}
	return a
}

// addMembers adds the members of a page's keys. Two keys of one run ID are an error: one of them
// would never be called.
func addMembers(all []ledger.Member, seen map[string]string, parent string, keys []string) ([]ledger.Member, error) {
	for _, key := range keys {
		id, err := jobs.MemberRunID(parent, key)
		if err != nil {
			return nil, err
		}
		if first, duplicate := seen[id]; duplicate {
			return nil, fmt.Errorf("the keys %.80q and %.80q are one member; each key must be in it once", first, key)
		}
		seen[id] = key
		all = append(all, ledger.Member{RunID: id, Key: key})
	}
	return all, nil
}

// freeze writes the list in parts, and reports whether all were written. A part is small enough for
// one transaction; the outcome of the attempt makes the list final.
func (t *attempter) freeze(ctx context.Context, l ledger.Lease, all []ledger.Member) bool {
	for i := 0; i == 0 || i < len(all); i += freezeAtOnce { // an empty list, too, deletes what an earlier attempt has left
		part := ledger.Freeze{Lease: l, First: i == 0, Members: all[i:min(i+freezeAtOnce, len(all))]}
		var got ledger.RecordResult
		err := untilAvailable(ctx, t.ledger.random, func() (err error) {
			got, err = t.ledger.freeze(ctx, part)
			return err
		})
		if err != nil || got != ledger.Recorded {
			t.logger.Warn("list not frozen; the attempt is discarded", "run", l.RunID, "result", got, "error", err)
			return false
		}
	}
	return true
}

// MemberCall returns what a member of a parent sends: the parent's call with the placeholders
// that only a member fills.
func MemberCall(parent ledger.CallSpec, m ledger.Member) ledger.CallSpec {
	c := parent
	c.MemberKey, c.Path, c.KeyForm = m.Key, jobs.MemberPath(parent.Path, m.Key), strings.TrimPrefix(parent.KeyForm, parentForm)
	if len(parent.Body) > 0 {
		c.Body = []byte(jobs.MemberBody(string(parent.Body), m.RunID, m.Key))
	}
	if len(parent.Headers) > 0 {
		c.Headers = make(map[string]string, len(parent.Headers))
		for name, value := range parent.Headers {
			c.Headers[name] = jobs.MemberText(value, m.RunID)
		}
	}
	return c
}

// releaser makes members of parents that have fanned out, as this process has room for them,
// and ends the parents. Its hints come from the recorder; all else belongs to the loop's
// goroutine.
type releaser struct {
	ledger *ledgerClient
	work   *workset
	poll   time.Duration // how often to check for parents of other processes
	last   time.Time     // of the last check

	mu      sync.Mutex
	parents map[string]*fanned
}

// fanned is a parent that this process works on: what the loop has to know to check it in time.
type fanned struct {
	hasMore bool // it has members left to release
	leased  int  // members that are leased here
	changed bool // a member ended since the last check
}

// fannedOut notes that a parent's list is frozen.
func (r *releaser) fannedOut(parent string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parents[parent] = &fanned{hasMore: true, changed: true}
}

// ended notes that a member is no longer leased here.
func (r *releaser) ended(parent string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.parents[parent]; p != nil {
		p.leased, p.changed = max(0, p.leased-1), true
	}
}

// toCheck returns the parents to check now: those that may have members for the room here,
// and those whose last member may have ended.
func (r *releaser) toCheck(low bool) (parents []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, p := range r.parents {
		if p.changed && (p.hasMore && low || !p.hasMore && p.leased == 0) {
			parents = append(parents, id)
			p.changed = false
		}
	}
	return parents
}

// busy reports whether a parent is to be checked: its list was frozen, or a member ended, since
// the last check. The members of a parent may be in another process's hands, or wait for hours.
func (r *releaser) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.parents {
		if p.changed && (p.hasMore || p.leased == 0) {
			return true
		}
	}
	return false
}

// release checks parents, and leases members as far as there is room. The loop calls it in each
// round; it asks the ledger if a member has ended here, or after the poll.
func (r *releaser) release(ctx context.Context) {
	if ctx.Err() != nil || r.ledger.backoff.remaining() > 0 {
		return
	}
	parents := r.toCheck(r.work.low())
	if len(parents) == 0 && time.Since(r.last) < r.poll {
		return
	}
	_, _, room := r.work.size()
	targets, jobIDs := r.work.busy()
	r.last = time.Now()
	got, until, ok := r.ledger.release(ctx, ledger.ReleaseRequest{
		Limit: min(room, releaseAtOnce), Parents: parents, BusyTargets: targets, BusyJobs: jobIDs, Call: MemberCall,
	})
	if !ok {
		r.recheck(parents)
		return
	}
	r.apply(got, parents)
	r.work.add(got.Work, until)
}

// recheck has parents checked again whose check failed.
func (r *releaser) recheck(parents []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range parents {
		r.parents[id].changed = true
	}
}

// apply notes what a check of parents found. A named one that it did not find has ended.
func (r *releaser) apply(got ledger.Released, named []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := slices.Clone(named)
	for _, parent := range got.Parents {
		if parent.State != ledger.FannedOut {
			ended = append(ended, parent.ID)
			continue
		}
		ended = slices.DeleteFunc(ended, func(id string) bool { return id == parent.ID })
		if r.parents[parent.ID] == nil {
			r.parents[parent.ID] = &fanned{}
		}
		r.parents[parent.ID].hasMore = false
	}
	for _, id := range ended {
		delete(r.parents, id)
	}
	for _, id := range got.More {
		r.parents[id].hasMore = true
	}
	for i := range got.Work {
		r.parents[got.Work[i].Parent].leased++
	}
}
