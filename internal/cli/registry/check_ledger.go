package registry

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/dataschema"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// shownSchedules is the number of broken schedules of a template that are reported one by one.
const shownSchedules = 10

// checkSchedules reports the schedules in the ledger that their template, as it is in the
// registry, could not make calls of, and the templates that the registry lacks.
func (a *app) checkSchedules(ctx context.Context, reg *jobs.Registry) (broken, orphaned jobs.Problems, err error) {
	if !a.LedgerExists() {
		return nil, nil, a.NoLedger()
	}
	l, err := a.LedgerToRead(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	counts, err := l.Templates(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range counts {
		t, known := reg.Template(c.Template)
		switch {
		case !known && c.Schedules > 0:
			orphaned = append(orphaned, jobs.Problem{File: a.Config, Job: c.Template, Code: jobs.CodeBadData,
				Message: fmt.Sprintf("the ledger has %s of the template %q, which the registry lacks: they are kept, and not "+
					"planned; put it back, or delete them (cronce schedules)", plural.Of(c.Schedules, "schedule"), c.Template)})
		case known:
			found, err := checkTemplate(ctx, l, reg, t)
			if err != nil {
				return nil, nil, err
			}
			broken = append(broken, found...)
		}
	}
	return broken, orphaned, nil
}

// checkTemplate reports the schedules of a template that it could not make calls of: a few one by one, and the number
// of the others.
func checkTemplate(ctx context.Context, l ledger.Store, reg *jobs.Registry, t jobs.Template) (broken jobs.Problems, err error) {
	schema, err := dataschema.Of(t)
	if err != nil {
		return nil, nil //nolint:nilerr // reported already
	}
	n := 0
	for f := (ledger.ScheduleFilter{Template: t.ID, Limit: 1000}); ; {
		page, err := l.Schedules(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if s.InQuota() {
				if err := checkSchedule(t, schema, s); err != nil {
					if n++; n <= shownSchedules {
						broken = append(broken, reg.JobProblem(t.ID, "keyed", jobs.CodeBadData,
							fmt.Sprintf("the schedule %s would break: %s", s.JobID, jobs.MessageOf(err))))
					}
				}
			}
		}
		if len(page) < f.Limit {
			break
		}
		f.AfterKey = page[len(page)-1].Key()
	}
	if n > shownSchedules {
		broken = append(broken, reg.JobProblem(t.ID, "keyed", jobs.CodeBadData, fmt.Sprintf("%d more schedules would break", n-shownSchedules)))
	}
	return broken, nil
}

func checkSchedule(t jobs.Template, schema dataschema.Schema, s ledger.Schedule) error {
	_, err := t.Check(jobs.KeyedSchedule{Key: s.Key(), Schedule: s.Expr, Timezone: s.Timezone, DST: schedule.DST(s.DST), Data: s.Data,
		Until: s.Until})
	if err == nil {
		err = schema.Check(s.Data)
	}
	return err
}
