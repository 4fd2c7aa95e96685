package operations

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/suggest"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// registered returns a job of the registry, or of a schedule that was made at run time. A template is refused: it has
// no runs of its own. hint ends the error about an unknown job.
func (s *Service) registered(ctx context.Context, id, hint string) (jobs.Job, error) {
	if _, _, keyed := jobs.SplitJobID(id); keyed {
		return s.KeyedJob(ctx, id)
	}
	reg, err := s.registry()
	if err != nil {
		return jobs.Job{}, err
	}
	j, ok := reg.Job(id)
	if s.isTemplate(id) {
		return j, refuse(UnknownJob,
			"%q is a template: name one of its schedules, as %s:KEY; \"cronce schedules list %s\" lists them", id, id, id)
	}
	if !ok {
		return j, unknownJob(id, reg.IDs(), "\"cronce jobs list\" lists the registry's jobs"+hint)
	}
	return j, nil
}

func (s *Service) isTemplate(id string) (is bool) {
	if reg, err := s.registry(); err == nil {
		_, is = reg.Template(id)
	}
	return is
}

// callable returns a job whose call can be made. It refuses a schedule whose data does not fit its template any more.
func (s *Service) callable(ctx context.Context, id, hint string) (jobs.Job, error) {
	j, err := s.registered(ctx, id, hint)
	if err == nil && j.Unfit() != "" {
		err = refuse(Invalid, "the schedule %s does not fit its template; change one of them: %s", id, j.Unfit())
	}
	return j, err
}

// KnownJob returns an Error for a job that neither the ledger nor the registry has. A job that left the registry is
// known as long as the ledger has runs of it. "" is accepted, as it names no job.
func (s *Service) KnownJob(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	if reg, err := s.registry(); err == nil {
		if _, served := reg.Index(id); served {
			return nil
		}
	}
	// One row tells nearly always; the names of all jobs are only read to suggest the nearest.
	runs, err := s.ledger.List(ctx, ledger.Filter{JobID: id, Limit: 1})
	if err != nil || len(runs) > 0 {
		return err
	}
	if template, key, keyed := jobs.SplitJobID(id); keyed {
		_, err := s.Schedule(ctx, template, key)
		return err
	}
	names, err := s.jobNames(ctx)
	if err != nil || names[id] {
		return err
	}
	return unknownJob(id, slices.Sorted(maps.Keys(names)), `"cronce jobs list" lists the jobs`)
}

// jobNames returns the IDs of the jobs of the ledger and, where there is one, of the registry.
func (s *Service) jobNames(ctx context.Context) (map[string]bool, error) {
	names := map[string]bool{}
	states, err := s.ledger.JobStates(ctx)
	if err != nil {
		return nil, err
	}
	for _, st := range states {
		names[st.JobID] = true
	}
	if reg, err := s.registry(); err == nil {
		for _, id := range reg.IDs() {
			names[id] = true
		}
	}
	return names, nil
}

func unknownJob(id string, known []string, hint string) error {
	return refuse(UnknownJob, "unknown job %q%s %s", id, cmp.Or(suggest.DidYouMean(id, known), ";"), hint)
}

// unknownName refuses a name that is not valid. It suggests the nearest one and lists all.
func unknownName[T ~string](kind string, name T, valid ...T) error {
	words := Texts(valid)
	return refuse(Invalid, "unknown %s %q%s valid %[1]ss: %[4]s", kind, name, cmp.Or(suggest.DidYouMean(string(name), words), ";"),
		strings.Join(words, ", "))
}

func notServed(id string) error {
	return refuse(NotServed, "the ledger does not know the job %q: it does once a scheduler has served it", id)
}
