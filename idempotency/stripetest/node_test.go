package stripetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/stripetest"
)

// operation is what stripe-node is to charge; without a key it draws one itself.
type operation struct {
	Operation string `json:"operation"`
	Amount    int64  `json:"amount"`
	Key       string `json:"key,omitempty"`
}

// told is what stripe-node was told of an operation.
type told struct {
	Operation string
	ID        string
	Error     *struct {
		Type, Code, Message string
		Status              int
	}
}

// install installs stripe-node, once.
var install = sync.OnceValue(func() error {
	command := exec.Command("npm", "ci", "--silent")
	command.Dir, command.Stderr = "node", os.Stderr
	return command.Run()
})

// node charges with stripe-node, with up to so many retries each.
func node(t *testing.T, url string, retries int, operations ...operation) map[string]told {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("stripe-node needs npm, which is not installed")
	}
	check(t, install())
	asked, err := json.Marshal(map[string]any{"url": url, "apiKey": "sk_test_alice", "retries": retries, "operations": operations})
	check(t, err)
	command := exec.CommandContext(t.Context(), "node", "charge.mjs", string(asked))
	command.Dir, command.Stderr = "node", os.Stderr
	out, err := command.Output()
	check(t, err)
	answers := map[string]told{}
	for line := range strings.Lines(string(out)) {
		var got told
		check(t, json.Unmarshal([]byte(line), &got))
		answers[got.Operation] = got
	}
	if len(answers) != len(operations) {
		t.Fatalf("stripe-node tells of %d operations, want %d:\n%s", len(answers), len(operations), out)
	}
	return answers
}

func TestStripeNodeMakesOneChargeWhateverTheNetworkDoes(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			s := newService(t, nil)
			p := newProxy(t, s.url, func(string) []fault { return []fault{f.do, f.do} })
			answers := node(t, p.URL, 3, operation{"one", 500, "order-1"}, operation{"two", 500, ""})
			for _, name := range []string{"one", "two"} {
				if got := answers[name]; got.Error != nil || got.ID == "" {
					t.Errorf("%s: %s %+v", name, got.ID, got.Error)
				}
				s.wantCharges(name, 1)
			}
		})
	}
}

// Forty operations, eight at once, each through up to five faults.
func TestStripeNodeMakesOneChargePerOperationInAStorm(t *testing.T) {
	s := newService(t, nil)
	p := newProxy(t, s.url, storm)
	var operations []operation
	for i := range 40 {
		name := fmt.Sprint("operation-", i)
		operations = append(operations, operation{name, 500, name})
	}
	by := map[string]string{}
	for name, got := range node(t, p.URL, 8, operations...) {
		if other, twice := by[got.ID]; twice || got.Error != nil {
			t.Errorf("%s was told of %q, as %q was (%+v)", name, got.ID, other, got.Error)
		}
		by[got.ID] = name
		s.wantCharges(name, 1)
	}
}

func TestTheKitsAnswersAreRepeatedByBothClientsOrByNeither(t *testing.T) {
	const attempts = 3
	for _, c := range []struct {
		status int
		code   string
		repeat bool
	}{
		{400, idempotency.CodeMissingKey, false},
		{400, idempotency.CodeInvalidKey, false},
		{400, idempotency.CodeInvalidRequest, false},
		{401, idempotency.CodeNoPrincipal, false},
		{409, idempotency.CodeMismatch, false},
		{409, idempotency.CodeInProgress, true},
		{409, idempotency.CodeOutcomeUnknown, false},
		{412, idempotency.CodeTooLate, false},
		{413, idempotency.CodeRequestTooLarge, false},
		{500, idempotency.CodeBodyConsumed, false},
		{500, idempotency.CodeMisplaced, false},
		{500, idempotency.CodeReplyTooLarge, false},
		{500, idempotency.CodeTxAborted, true},
		{500, idempotency.CodeTxEnded, false},
		{503, idempotency.CodeRunTooLong, true},
		{503, idempotency.CodeUnavailable, true},
	} {
		t.Run(c.code, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				stripetest.WriteProblem(w, r, idempotency.Problem{Status: c.status, Code: c.code})
			}))
			defer server.Close()
			want := int32(1)
			if c.repeat {
				want = attempts
			}
			if _, err := charge(t.Context(), client(t, server.URL, "sk_test_alice", attempts-1), "k", "one", 500); err == nil || asked.Load() != want {
				t.Errorf("stripe-go asked %d times, want %d (%v)", asked.Load(), want, err)
			}
			asked.Store(0)
			if got := node(t, server.URL, attempts-1, operation{"one", 500, "k"})["one"]; got.Error == nil || asked.Load() != want {
				t.Errorf("stripe-node asked %d times, want %d (%+v)", asked.Load(), want, got.Error)
			}
		})
	}
}

func TestStripeNodeKnowsAnIdempotencyError(t *testing.T) {
	s := newService(t, nil)
	if got := node(t, s.url, 0, operation{"one", 500, "order-1"})["one"]; got.Error != nil {
		t.Fatalf("%+v", got.Error)
	}
	got := node(t, s.url, 0, operation{"one", 501, "order-1"})["one"]
	if got.Error == nil || got.Error.Type != "StripeIdempotencyError" || got.Error.Code != idempotency.CodeMismatch || got.Error.Status != http.StatusBadRequest {
		t.Errorf("%+v, want a StripeIdempotencyError", got.Error)
	}
	s.wantCharges("", 1)
}
