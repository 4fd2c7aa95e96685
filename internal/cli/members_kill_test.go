package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// tenants is a target whose list is another one in each answer, and that notes the keys of
// the calls to the members.
type tenants struct {
	*httptest.Server
	mu    sync.Mutex
	lists int
	calls map[string]int // by idempotency key
}

const tenantsInList = 300

func newTenants(t *testing.T) *tenants {
	s := &tenants{calls: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *tenants) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		s.lists++
		var list []string
		for i := range tenantsInList {
			list = append(list, fmt.Sprintf("%d-%03d", s.lists, i))
		}
		_ = json.NewEncoder(w).Encode(list)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	s.calls[key]++
	if s.calls[key] > 1 {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	time.Sleep(time.Millisecond)
	fmt.Fprint(w, "{}")
}

// A process is killed again and again while it fetches and freezes lists and calls members:
// each list is one that the target sent, and each of its members is called, under one key.
// CRONCE_KILLS says how often.
func TestMembersSurviveKills(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(os.Getenv("CRONCE_KILLS"))
	if err != nil {
		kills = 12
	}
	engines(t, func(t *testing.T, db string) {
		svc := newTenants(t)
		config := writeFile(t, `version: 1
name: test
jobs:
  - { id: bill, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: "/bill/{{key}}", each: { path: /tenants }, catchUp: all }
`)
		args := []string{"serve", "--config", config, "--db", db, "--listen", "", "--lease", "1s"}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		for killed := range kills {
			p := spawn(t, []string{"SVC_URL=" + svc.URL}, args...)
			before := svc.called()
			eventually(t, fmt.Sprintf("a call of the process that is killed as number %d", killed+1), func() bool { return svc.called() > before })
			time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
			p.Kill()
		}
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, args...)
		eventually(t, "a run that succeeded after the kills", func() bool {

			return len(listRuns(t, db, "--job", "bill", "--state", "succeeded")) > 1
		})
		p.Interrupt()

		svc.mu.Lock()
		defer svc.mu.Unlock()
		known, attempts := map[string]bool{}, 0
		for _, run := range listRuns(t, db, "--job", "bill") {
			attempts += run.Attempts
			members := membersOf(t, db, run.RunID)
			for _, m := range members {
				known[m.RunID] = true
				if list, _, _ := strings.Cut(m.Key, "-"); !strings.HasPrefix(members[0].Key, list+"-") || len(members) != tenantsInList {
					t.Fatalf("%s has %d members, from the lists of %s and %s", run.RunID, len(members), members[0].Key, m.Key)
				}
				if m.State == ledger.Succeeded && svc.calls[m.RunID] == 0 || run.State == ledger.Succeeded && m.State != ledger.Succeeded {
					t.Errorf("%s is %s, its run %s; it was called %d times", m.RunID, m.State, run.State, svc.calls[m.RunID])
				}
			}
		}
		for key := range svc.calls {
			if !known[key] {
				t.Errorf("a call with the key %s, which is no member's", key)
			}
		}
		t.Logf("%d lists, %d keys called, %d members, %d attempts of parents", svc.lists, len(svc.calls), len(known), attempts)
	})
}

func (s *tenants) called() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, calls := range s.calls {
		n += calls
	}
	return n + s.lists
}

func membersOf(t *testing.T, db, run string) (members []operations.Member) {
	t.Helper()
	code, out, errs := invoke(t, nil, "runs", "members", run, "--json", "--all", "--db", db)
	if code != 0 {
		t.Fatalf("runs members: exit %d: %s", code, errs)
	}
	if err := json.Unmarshal([]byte(out), &members); err != nil {
		t.Fatal(err)
	}
	return members
}
