package operations

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/suggest"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// FoundKind names the kind of thing that a text names.
type FoundKind string

// The kinds of what is found.
const (
	FoundRun    FoundKind = "run"
	FoundTime   FoundKind = "time" // a job's time that has no row of its own
	FoundJob    FoundKind = "job"
	FoundOwner  FoundKind = "owner"
	FoundLabel  FoundKind = "label"
	FoundTarget FoundKind = "target"
)

// Found is a thing that a text names.
type Found struct {
	Kind FoundKind
	Name string // the ID; of a label name=value
	At   string // of a time
}

// Find returns what a text names: a run, by its ID or key in any form that FindRun takes, or
// a time of a job that has no run; else the jobs, owners, labels and targets of that name,
// or if there is none, those whose names contain it. If nothing is found, near is
// the end of a sentence with the nearest name.
func (s *Service) Find(ctx context.Context, text string) (list []Found, near string, err error) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	if text == "" {
		return nil, "", nil
	}
	id, err := s.FindRun(ctx, text)
	if err != nil {
		return nil, "", err
	}
	switch _, _, err := s.ledger.Get(ctx, id); {
	case err == nil:
		return []Found{{Kind: FoundRun, Name: id}}, "", nil
	case !errors.Is(err, ledger.ErrNotFound):
		return nil, "", err
	}
	names, err := s.names(ctx)
	if err != nil {
		return nil, "", err
	}
	if jobID, at, _, err := jobs.ParseRunID(id); err == nil && slices.Contains(names[FoundJob], jobID) {
		return []Found{{FoundTime, jobID, TimeText(at)}}, "", nil
	}
	for _, matches := range []func(name, text string) bool{strings.EqualFold, containsFold} {
		for _, kind := range []FoundKind{FoundJob, FoundOwner, FoundLabel, FoundTarget} {
			for _, name := range names[kind] {
				if matches(name, text) {
					list = append(list, Found{Kind: kind, Name: name})
				}
			}
		}
		if len(list) > 0 {
			return list, "", nil
		}
	}
	return nil, suggest.DidYouMean(text, slices.Concat(slices.Collect(maps.Values(names))...)), nil
}

func containsFold(name, text string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(text))
}

// names returns the sorted names of the jobs of ledger and registry, and of the owners, labels and targets of the
// registry.
func (s *Service) names(ctx context.Context) (map[FoundKind][]string, error) {
	known, err := s.jobNames(ctx)
	if err != nil {
		return nil, err
	}
	sets := map[FoundKind]map[string]bool{FoundJob: known, FoundOwner: {}, FoundLabel: {}, FoundTarget: {}}
	if reg, err := s.registry(); err == nil {
		for _, j := range reg.All() {
			sets[FoundOwner][j.Owner] = true
			for name, value := range j.Labels {
				sets[FoundLabel][name+"="+value] = true
			}
		}
		for _, t := range reg.Targets() {
			sets[FoundTarget][t.Name] = true
		}
	}
	names := map[FoundKind][]string{}
	for kind, set := range sets {
		delete(set, "")
		delete(set, jobs.BuiltinTarget)
		names[kind] = slices.Sorted(maps.Keys(set))
	}
	return names, nil
}
