package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/cli/caller"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

// liveTimeout bounds the question to one target.
const liveTimeout = 10 * time.Second

// checkLive asks each target how long it keeps keys. It reports the jobs whose keys live for
// less time than keyTTLs says, and the targets that do not answer; it warns of targets that
// do not say.
func (a *app) checkLive(ctx context.Context, reg *jobs.Registry) (problems, warned jobs.Problems, err error) {
	log, err := a.Logger()
	if err != nil {
		return nil, nil, err
	}
	made, err := caller.New(a.Env, reg, nil, log)
	if err != nil {
		return nil, nil, err
	}
	defer made.Close()
	for _, t := range reg.Targets() {
		called := callers(reg, t.Name)
		if len(called) == 0 {
			continue
		}
		told, err := a.lifetimes(ctx, made.Targets, reg, t)
		switch {
		case errors.Is(err, targets.ErrNoLifetimes):
			warned = append(warned, jobs.Problem{Code: jobs.CodeRetention,
				Message: fmt.Sprintf("target %s does not say how long it keeps keys; check that it is as long as keyTTLs says", t.Name)})
		case err != nil:
			problems = append(problems, jobs.Problem{Code: jobs.CodeRetention,
				Message: fmt.Sprintf("target %s was asked how long it keeps keys: %v", t.Name, err)})
		default:
			problems = append(problems, tooShort(reg, called, told)...)
		}
	}
	return problems, warned, nil
}

func (a *app) lifetimes(ctx context.Context, all *targets.Targets, reg *jobs.Registry, t jobs.Target) (targets.Lifetimes, error) {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	return all.Lifetimes(ctx, reg.Name(), t)
}

// callers returns the enabled jobs that call a target.
func callers(reg *jobs.Registry, target string) (list []jobs.Job) {
	for j := range reg.JobsAndTemplates() {
		if j.Target == target && !j.Disabled {
			list = append(list, j)
		}
	}
	return list
}

// tooShort reports the jobs whose keys a target keeps for less time than keyTTLs says.
func tooShort(reg *jobs.Registry, called []jobs.Job, told targets.Lifetimes) (problems jobs.Problems) {
	for _, j := range called {
		promised, _ := reg.TTL(j.KeyScope)
		if life := told.Of(j.KeyScope); life < promised {
			problems = append(problems, reg.JobProblem(j.ID, "keyScope", jobs.CodeRetention, fmt.Sprintf(
				"target %s keeps keys of %q for %s, and the registry counts on %s; set keyTTLs for the scope to at most %[3]s, or "+
					"have the target keep them longer",
				j.Target, j.KeyScope, life, promised)))
		}
	}
	return problems
}
