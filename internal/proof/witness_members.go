package proof

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// FreezeMembers is one request at a time.
func (w *Witness) FreezeMembers(ctx context.Context, f ledger.Freeze) (ledger.RecordResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Store.FreezeMembers(ctx, f)
}

// ReleaseMembers notes the leases of members, those that it made due again, and parents that ended.
func (w *Witness) ReleaseMembers(ctx context.Context, in ledger.ReleaseRequest) (ledger.Released, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	look := context.WithoutCancel(ctx) // the look-ups are evidence
	ended, err := w.endedMembers(look)
	if err != nil {
		return ledger.Released{}, err
	}
	got, err := w.Store.ReleaseMembers(ctx, in)
	if err != nil {
		return got, err
	}
	for id := range ended {
		r, _, err := w.Store.Get(look, id)
		if err != nil {
			return got, err
		}
		if !r.State.Finished() {
			w.renew(r)
		}
	}
	w.leased(got.Now, got.Work...)
	e := newEnds() // of all parents, as the rule sees them
	for _, p := range got.Parents {
		if err := w.looked(look, p, e); err != nil {
			return got, err
		}
	}
	return got, w.ends(look, e)
}

// endedMembers are the dead and canceled members that a pass over a list may make due again.
func (w *Witness) endedMembers(ctx context.Context) (map[string]bool, error) {
	ended := map[string]bool{}
	parents, err := w.Store.List(ctx, ledger.Filter{States: []ledger.State{ledger.FannedOut}, Limit: math.MaxInt})
	for _, p := range parents {
		if p.Fan.ReviveState == "" || err != nil {
			continue
		}
		var list []ledger.Run
		list, err = w.Store.List(ctx, ledger.Filter{Parent: p.ID, States: []ledger.State{p.Fan.ReviveState}, Limit: math.MaxInt})
		for _, r := range list {
			ended[r.ID] = true
		}
	}
	return ended, err
}

// looked notes a parent that a release has looked at: its list, which is final now, and its end.
func (w *Witness) looked(ctx context.Context, p ledger.Run, e ends) error {
	if w.frozen[p.ID] == nil {
		page, err := w.Store.Members(ctx, ledger.MemberFilter{Parent: p.ID, Limit: p.Fan.Members + 1})
		if err != nil {
			return err
		}
		for _, m := range page.Members {
			w.frozen[p.ID] = append(w.frozen[p.ID], m.Member)
		}
		if n := len(page.Members); n != p.Fan.Members {
			w.saw(Torn, p.ID, "%d of %d members are in its list", n, p.Fan.Members)
		}
	}
	if !p.State.Finished() {
		return nil
	}
	failed, err := w.Store.List(ctx, ledger.Filter{Parent: p.ID, States: []ledger.State{ledger.Dead, ledger.Canceled}, Limit: math.MaxInt})
	if err != nil {
		return err
	}
	e.add(ledger.Outcome{Lease: ledger.Lease{RunID: p.ID}, State: p.State})
	if p.State == ledger.Dead {
		e.deaths[p.JobID] += len(failed) - 1 // add counts one
	}
	w.ended(p.ID, p.JobID)
	return nil
}

// canceledMembers notes the members that were canceled with their parent.
func (w *Witness) canceledMembers(ctx context.Context, parent string) error {
	list, err := w.Store.List(ctx, ledger.Filter{Parent: parent, States: []ledger.State{ledger.Canceled}, Limit: math.MaxInt})
	for _, r := range list {
		if h := w.run(r.ID); h.ended.at.IsZero() {
			h.token = ""
			w.ended(r.ID, r.JobID)
		}
	}
	return err
}

// withParents adds the parents that work on because a member was redriven.
func (w *Witness) withParents(ctx context.Context, changed []ledger.Run) ([]ledger.Run, error) {
	all := slices.Clone(changed)
	for _, r := range changed {
		if r.Parent == "" || slices.ContainsFunc(all, func(o ledger.Run) bool { return o.ID == r.Parent }) {
			continue
		}
		p, _, err := w.Store.Get(ctx, r.Parent)
		if err != nil {
			return all, err
		}
		if !w.run(p.ID).ended.at.IsZero() {
			all = append(all, p)
		}
	}
	return all, nil
}

// counted compares the counts of a parent's members with their runs, unless a purge has begun to
// delete them.
func (w *Witness) counted(ctx context.Context, p ledger.Run) error {
	if slices.ContainsFunc(w.removed, func(r Removal) bool { return r.Parent == p.ID }) {
		return nil
	}
	counts, err := w.Store.MemberCounts(ctx, []string{p.ID})
	if err != nil {
		return err
	}
	list, err := w.Store.List(ctx, ledger.Filter{Parent: p.ID, Limit: math.MaxInt})
	want := map[ledger.State]int{"": p.Fan.Members - len(list)}
	for _, r := range list {
		want[r.State]++
	}
	got := counts[p.ID]
	for _, m := range []map[ledger.State]int{got, want} {
		maps.DeleteFunc(m, func(_ ledger.State, n int) bool { return n == 0 })
	}
	if !maps.Equal(got, want) {
		w.saw(Uncounted, p.ID, "counted %v, and there are %v", got, want)
	}
	return err
}
