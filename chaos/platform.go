package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/cronce/cronce/internal/fakelambda"
)

// Function is a Lambda function's execution environment.
type Function interface {
	Invoke(fakelambda.Event) fakelambda.Outcome
	Kill()
}

// platform delivers one job's scheduled times to a function, beside the schedulers:
// again when a delivery fails, and now and then although it did not.
type platform struct {
	function Function
	job      string
	every    time.Duration
	dice     *rand.Rand
	ledger   bool // that the function has one

	deliveries int
	given      map[string]bool // the run IDs of what was delivered, and whether it was called done
	refused    error           // what the function said when it did not start
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
	run := p.job + "@" + stamp
	p.given[run] = false
	for range lambdaTries {
		p.deliveries++
		out := p.function.Invoke(event)
		p.given[run] = p.given[run] || out.Response != nil
		if out.InitError != nil { // a database that is down fails events, never a start
			p.refused = fmt.Errorf("the function of %s does not start: %s", p.job, out.InitError.Message)
		}
		if out.Response != nil && p.dice.IntN(5) > 0 {
			return
		}
	}
}

// addFunctions makes two functions: one on the schedulers' ledger, and one
// without any, which only the service's keys keep from doing work twice. Where
// there are no schedulers, three on the ledger get the same scheduled times of a job whose
// runs wait for one another, and three of one that skips: without a tick, only
// the events of these jobs finish runs that earlier events left.
func (f *fleet) addFunctions(dice *rand.Rand) error {
	if f.Function == nil || f.Embedded {
		return nil
	}
	db, err := f.toDatabase("lambda-ledger")
	if err != nil {
		return err
	}
	type function struct {
		name, job, db string
		every         time.Duration
	}
	functions := []function{{"lambda", "payroll", db, 2 * time.Second}, {"stateless", "cloud", "", 2 * time.Second}}
	if f.FunctionsOnly {
		functions = nil
		for i := range 3 {
			functions = append(functions, function{fmt.Sprint("queue-", i), "ledger-close", db, 2 * time.Second},
				function{fmt.Sprint("skip-", i), "slow", db, 5 * time.Second})
		}
	}
	for _, fn := range functions {
		service, err := f.network.between(fn.name+"-service", serviceAddress(f.service))
		if err != nil {
			return err
		}
		config := f.registry(&process{name: fn.name})
		if err := os.WriteFile(config, []byte(registryText(0)), 0o600); err != nil {
			return err
		}
		f.platforms = append(f.platforms, &platform{
			job: fn.job, every: fn.every, dice: rand.New(rand.NewPCG(dice.Uint64(), 0)), ledger: fn.db != "", given: map[string]bool{},
			function: f.Function("CRONCE_CONFIG="+config, "CRONCE_DATABASE_URL="+fn.db, "SERVICE_URL=http://"+service, envToken+"="+token),
		})
	}
	return nil
}

// refused returns an error if a function did not start.
func (f *fleet) refused() error {
	var errs []error
	for _, p := range f.platforms {
		errs = append(errs, p.refused)
	}
	return errors.Join(errs...)
}
