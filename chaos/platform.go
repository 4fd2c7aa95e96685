package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/fakelambda"
)

// Function is a Lambda function's execution environment.
type Function interface {
	Invoke(fakelambda.Event) fakelambda.Outcome
	Kill()
}

// platform delivers one job's instants to a function, beside the schedulers:
// again when a delivery fails, and now and then although it did not.
type platform struct {
	function Function
	job      string
	every    time.Duration
	dice     *rand.Rand

	mu         sync.Mutex
	deliveries int
	given      map[string]bool // the run-ids of the instants that were delivered
}

const (
	lambdaTimeout = 6 * time.Second
	lambdaTries   = 3 // as AWS: one and two more
)

// run delivers until the context ends, and finishes what it is at.
func (p *platform) run(ctx context.Context) {
	for {
		at := time.Now().Truncate(p.every).Add(p.every).UTC()
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(at)):
		}
		p.fire(at)
	}
}

func (p *platform) fire(at time.Time) {
	stamp := at.Format(time.RFC3339)
	event := fakelambda.Event{
		RequestID: p.job + "-" + stamp, Timeout: lambdaTimeout,
		Payload: fmt.Sprintf(`{"jobId":%q,"scheduledAt":%q}`, p.job, stamp),
	}
	for range lambdaTries {
		p.mu.Lock()
		p.deliveries++
		p.given[p.job+"@"+stamp] = true
		p.mu.Unlock()
		out := p.function.Invoke(event)
		if out.Response != nil && p.dice.IntN(5) > 0 {
			return
		}
	}
}

func (p *platform) told() (deliveries int, given map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deliveries, p.given
}

// addFunctions makes two functions: one on the schedulers' ledger, and one
// without any, which only the service's keys keep from doing work twice.
func (f *fleet) addFunctions(dice *rand.Rand) error {
	if f.Function == nil || f.Embedded {
		return nil
	}
	db, err := f.over("lambda-ledger", f.Database)
	if err != nil {
		return err
	}
	for _, fn := range []struct{ name, job, db string }{{"lambda", "payroll", db}, {"stateless", "cloud", ""}} {
		service, err := f.network.between(fn.name+"-service", serviceAddress(f.service))
		if err != nil {
			return err
		}
		config := f.registry(&process{name: fn.name})
		if err := writeRegistry(config, 0); err != nil {
			return err
		}
		f.platforms = append(f.platforms, &platform{
			job: fn.job, every: 2 * time.Second, dice: rand.New(rand.NewPCG(dice.Uint64(), 0)), given: map[string]bool{},
			function: f.Function("CRONCE_CONFIG="+config, "CRONCE_DATABASE_URL="+fn.db, "SERVICE_URL=http://"+service, envToken+"="+token),
		})
	}
	return nil
}
