package operations

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/suggest"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Selection selects jobs by what the registry that is served now says of them: owners, labels and targets are not in
// the ledger. A job must match all fields; empty ones match every job.
type Selection ledger.Selector

// IsZero reports whether the selection selects all jobs.
func (sel Selection) IsZero() bool { return sel.NamesOneJob() && sel.Job == "" }

// NamesOneJob reports whether the selection has no more than the ID of a job, which the registry
// need not have.
func (sel Selection) NamesOneJob() bool {
	return sel.Owner == "" && len(sel.Labels) == 0 && sel.Target == "" && !strings.Contains(sel.Job, "*")
}

// JobsIn returns the selected jobs of a registry, by ID. It refuses what no job has, as most
// such texts are typing errors.
func (sel Selection) JobsIn(reg *jobs.Registry) (list []jobs.Job, err error) {
	for _, j := range reg.All() {
		if sel.selects(j) {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		err = sel.refuse(reg)
	}
	return list, err
}

// after returns up to limit of the selected jobs whose IDs follow another, and whether there are
// more. If all jobs are selected, it reads only those of the page: a registry may have 100,000.
func (sel Selection) after(reg *jobs.Registry, id string, limit int) (list []jobs.Job, more bool, err error) {
	if !sel.IsZero() {
		selected, err := sel.JobsIn(reg)
		first, there := slices.BinarySearchFunc(selected, id, func(j jobs.Job, id string) int { return strings.Compare(j.ID, id) })
		if there {
			first++
		}
		selected = selected[first:]
		return selected[:min(limit, len(selected))], len(selected) > limit, err
	}
	first, there := reg.Index(id)
	if there {
		first++
	}
	list = make([]jobs.Job, min(limit, reg.Len()-first))
	for i := range list {
		list[i] = reg.At(first + i)
	}
	return list, first+len(list) < reg.Len(), nil
}

// check refuses a selection that is not valid, such as a label without a name.
func (sel Selection) check() error {
	if err := ledger.Selector(sel).Validate(); err != nil {
		return refuse(Invalid, "%v", err)
	}
	return nil
}

// ofTemplate returns the selection with the template in place of a schedule's ID or a pattern of keys.
func (sel Selection) ofTemplate() Selection {
	sel.Job = ledger.RegistryJobID(sel.Job)
	return sel
}

// refuse returns the Error of a selection that no job matches. It names the first part that no job has, with the
// nearest name.
func (sel Selection) refuse(reg *jobs.Registry) error {
	if err := sel.check(); err != nil {
		return err
	}
	if templates := sel.ofTemplate().templates(reg); len(templates) > 0 {
		return refuse(Invalid, "%s has only templates (%s), whose schedules are not listed with the registry's jobs; "+
			`"cronce schedules list %s" lists them`, sel.Words(), strings.Join(templates, ", "), templates[0])
	}
	ids, owners, labels, targets := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range reg.Targets() {
		targets[t.Name] = true
	}
	for _, j := range reg.All() {
		ids[j.ID], targets[j.Target] = true, true
		owners[j.Owner] = j.Owner != ""
		for name, value := range j.Labels {
			labels[name], labels[name+"="+value] = true, true
		}
	}
	if sel.Job != "" && !ids[sel.Job] && !strings.Contains(sel.Job, "*") {
		return unknownJob(sel.Job, reg.IDs(), `"cronce jobs list" lists the registry's jobs`)
	}
	if err := noJobHas("owner", sel.Owner, owners, ""); err != nil {
		return err
	}
	for _, l := range sel.Labels {
		if err := noJobHas("label", l, labels, "; use name=value or a name"); err != nil {
			return err
		}
	}
	if err := noJobHas("target", sel.Target, targets, ""); err != nil {
		return err
	}
	return refuse(Invalid, "no job of the registry has %s", sel.Words())
}

// templates returns the IDs of the selected templates, unless the selection selects all.
func (sel Selection) templates(reg *jobs.Registry) (ids []string) {
	for _, t := range reg.Templates() {
		if !sel.IsZero() && sel.selects(t.Job) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

func noJobHas(what, value string, known map[string]bool, use string) error {
	if value == "" || known[value] {
		return nil
	}
	delete(known, "")
	return refuse(Invalid, "no job has the %s %q%s%s", what, value, use, suggest.DidYouMean(value, slices.Sorted(maps.Keys(known))))
}

func (sel Selection) selects(j jobs.Job) bool {
	return ledger.Selector(sel).Selects(j.ID, executor.TraitsOf(j))
}

// Words returns the selection in words: "job a-*, owner Billing, label env=prod".
func (sel Selection) Words() string {
	if sel.IsZero() {
		return ""
	}
	return ledger.Selector(sel).String()
}

// Select returns the IDs of the selected jobs and templates of the registry that is served
// now, and whether there are templates; nil if the selection selects all jobs.
func (s *Service) Select(ctx context.Context, sel Selection) (ids []string, templates bool, err error) {
	template, key, keyed := jobs.SplitJobID(sel.Job)
	switch err := sel.check(); {
	case err != nil:
		return nil, false, err
	case sel.IsZero():
		return nil, false, nil
	case s.oneJob(sel):
		return []string{sel.Job}, false, s.KnownJob(ctx, sel.Job)
	case keyed && key == "*" && !strings.Contains(template, "*"):
		sel.Job = template
	case keyed && strings.Contains(sel.Job, "*"):
		return nil, false, refuse(Invalid, "%q is a pattern of keys, which only a pause takes; name one schedule, as TEMPLATE:KEY, or all of a "+
			"template, as TEMPLATE:*", sel.Job)
	}
	reg, err := s.registry()
	if err != nil {
		return nil, false, err
	}
	templateIDs := sel.templates(reg)
	list, err := sel.JobsIn(reg) // its error does not count if templates are selected
	for _, j := range list {
		ids = append(ids, j.ID)
	}
	if len(templateIDs) > 0 {
		return append(ids, templateIDs...), true, nil
	}
	return ids, false, err
}

// oneJob reports whether the selection has no more than an ID, or nothing. A template's ID
// selects its schedules.
func (s *Service) oneJob(sel Selection) bool {
	if !sel.NamesOneJob() || sel.Job == "" {
		return sel.NamesOneJob()
	}
	reg, err := s.registry()
	if err != nil {
		return true
	}
	_, is := reg.Template(sel.Job)
	return !is
}

// Narrow adds a selection to a filter of runs, as the IDs of jobs. Every list and action that takes a Selection goes
// through it or Select.
func (s *Service) Narrow(ctx context.Context, sel Selection, f *ledger.Filter) error {
	if s.oneJob(sel) {
		f.JobID = sel.Job
		return sel.check()
	}
	ids, templates, err := s.Select(ctx, sel)
	f.JobIDs, f.WithSchedules = ids, templates
	if len(ids) == 1 && !templates {
		f.JobIDs, f.JobID = nil, ids[0]
	}
	return err
}
