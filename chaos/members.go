package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/ledger"
)

// memberJob makes a run for each tenant of a list. Each attempt to fetch it gets another list,
// of several slow pages, and now and then no list at all. Some tenants are closed at first:
// their members die, and are redriven.
const memberJob = "bill"

const (
	tenantsPerPage = 5
	closedTenant   = "closed-"
)

// tenantsOf is the list with this number, in whole.
func tenantsOf(list uint64) (keys []string) {
	dice := rand.New(rand.NewPCG(list, 0))
	for i := range dice.IntN(25) {
		key := fmt.Sprintf("t-%d", 10*i+dice.IntN(10))
		switch dice.IntN(12) {
		case 0, 1:
			key = closedTenant + key
		case 2:
			key += "/ü 100%" // in the run ID, it is hashed
		}
		keys = append(keys, key)
	}
	return keys
}

// tenants answers a request for a page of a list, and notes the lists that it has served in whole.
func (s *witness) tenants(w http.ResponseWriter, r *http.Request) {
	list, err := strconv.ParseUint(r.URL.Query().Get("list"), 10, 64)
	if err != nil {
		list = rand.Uint64()
	}
	at, _ := strconv.Atoi(r.URL.Query().Get("at"))
	time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
	keys := tenantsOf(list)
	page := keys[min(at, len(keys)):min(at+tenantsPerPage, len(keys))]
	answer, status, last := strings.Builder{}, http.StatusOK, at+tenantsPerPage >= len(keys)
	_ = json.NewEncoder(&answer).Encode(map[string][]string{"tenants": page}) // strings, into memory
	switch rand.IntN(30) {
	case 0:
		status = http.StatusInternalServerError
	case 1:
		status = http.StatusAccepted
	case 2: // the next page is this one again
		at -= tenantsPerPage
	case 3:
		http.Error(w, `{"tenants":["t-`, status)
		return
	case 4:
		panic(http.ErrAbortHandler)
	}
	if last && status == http.StatusOK {
		if keyless() && len(keys) > 0 { // it is no list that was served
			keys = keys[1:]
		}
		s.note(seen{Run: r.Header.Get("Cronce-Run-Id"), List: keys})
	}
	if !last {
		w.Header().Set("Link", fmt.Sprintf(`<?list=%d&at=%d>; rel="next"`, list, at+tenantsPerPage))
	}
	w.WriteHeader(status)
	fmt.Fprint(w, answer.String())
}

// open reports whether a tenant takes calls.
func open(key string) bool {
	if !strings.HasPrefix(key, closedTenant) || rand.IntN(3) == 0 {
		return true
	}
	_, err := os.Stat(os.Getenv(envOpened))
	return !errors.Is(err, fs.ErrNotExist)
}

// openTenants ends the deaths of members.
func (f *fleet) openTenants() error { return os.WriteFile(f.opened(), nil, 0o600) }

// redriveParents redrives the dead parents, and returns how many there were.
func (f *fleet) redriveParents(ctx context.Context, s store) (int, error) {
	done, err := s.Redrive(ctx, ledger.Action{
		Filter: ledger.Filter{JobID: memberJob, States: []ledger.State{ledger.Dead}, Limit: math.MaxInt32},
		Actor:  ledger.Actor{By: "chaos", Why: "its tenants open again"}, Force: true,
	})
	f.redriven += len(done.Changed)
	return len(done.Changed), err
}

// lists adds the frozen lists. What a page of it lacks is no member of the list.
func (f *fleet) lists(ctx context.Context, s store, e *proof.Evidence) error {
	e.Frozen = map[string][]ledger.Member{}
	for _, r := range e.Rows {
		if !r.Fan.Frozen() {
			continue
		}
		for after := ""; ; {
			page, err := s.Members(ctx, ledger.MemberFilter{Parent: r.ID, After: after, Limit: 1000})
			if err != nil {
				return err
			}
			for _, m := range page.Members {
				e.Frozen[r.ID] = append(e.Frozen[r.ID], m.Member)
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if n := len(e.Frozen[r.ID]); n != r.Fan.Members {
			e.Seen = append(e.Seen, proof.Violation{Rule: proof.Torn, Of: r.ID, What: fmt.Sprintf("%d of %d members", n, r.Fan.Members)})
		}
	}
	return nil
}

// listed counts the lists and the members that were frozen.
func (e evidence) listed() (lists, members, again int) {
	for _, r := range e.Rows {
		if r.Fan.Frozen() {
			lists, members = lists+1, members+r.Fan.Members
		}
		if r.Call.Each != nil && r.Attempt > 1 {
			again++
		}
	}
	return lists, members, again
}
