// Package probe looks for faults in how a target treats idempotency keys. It makes real
// calls with real effects: one call, the same call again, one with a changed body, several
// at the same time, and one without a key. The command `probe` uses it.
//
// A probe sees answers and no effects. It cannot show that a target is idempotent: that the
// effect and the key are committed together, once, and before the answer. Package conform
// tests that, with a service that follows its protocol. The checks have the names of its
// cases.
package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

// Config selects what to probe. Targets and Job are required.
type Config struct {
	Targets  *targets.Targets
	Registry string // the name of the registry, which the calls carry
	Job      jobs.Job
	Name     string // the target's name in the report; empty: Job.Target
	// TTL is how long the target keeps the job's keys, as the registry declares; 0: it
	// declares nothing.
	TTL time.Duration
	// ChangedBody is the body of the call with a changed body; empty: the job's body
	// with one more field.
	ChangedBody string
	Now         time.Time // the time from which the scheduled times of the calls are made
}

// Report is the result of a probe.
type Report struct {
	Outcome  Outcome  `json:"outcome"`
	Summary  string   `json:"summary"` // the outcome in words, with what was tried
	Target   string   `json:"target"`
	Method   string   `json:"method"`
	Path     string   `json:"path"`
	Checks   []Check  `json:"checks"`
	NotTried []string `json:"notTried"` // the cases of package conform that were not tried
	Calls    []Call   `json:"calls"`
}

// Run makes the calls and judges their answers. It returns an error if ctx ends. Calls
// that were sent may have had their effects then.
func Run(ctx context.Context, c Config) (Report, error) {
	p := &prober{Config: c, began: c.Now.UTC().Truncate(time.Second)}
	if err := p.run(ctx); err != nil {
		return Report{}, fmt.Errorf("%w; calls that were sent may have had their effects", err)
	}
	r := Report{Target: cmp.Or(c.Name, c.Job.Target), Method: c.Job.Method, Path: c.Job.Path, Calls: p.calls, Checks: p.judge()}
	r.conclude()
	return r, nil
}

// Validate returns an error if the job cannot be probed: for a method that carries no
// key, a timeout that is not positive, and a ChangedBody that is not JSON.
func (c Config) Validate() error {
	switch {
	case !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, c.Job.Method):
		return fmt.Errorf("the method %s has no key to probe: POST, PUT, PATCH and DELETE have", c.Job.Method)
	case c.Job.Timeout <= 0:
		return fmt.Errorf("invalid timeout %s; use a time such as 30s", c.Job.Timeout)
	case c.ChangedBody != "" && !json.Valid([]byte(c.ChangedBody)):
		return errors.New("the changed body is not JSON")
	}
	return nil
}

// newKey returns an unused key of the job, which is of no scheduled time.
func (p *prober) newKey() string {
	return jobs.RunIDWithToken(p.Job.ID, p.began, uuid.Must(uuid.NewV7()).String())
}
