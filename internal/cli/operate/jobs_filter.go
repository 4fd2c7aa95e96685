package operate

import (
	"maps"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/suggest"
	"github.com/cronce/cronce/jobs"
)

// jobFilter selects jobs by what their definitions say to people.
type jobFilter struct {
	owner  string
	labels []string // name=value, or a name
}

// apply refuses an owner and a label that no job has: an empty list would hide a
// typing error.
func (f jobFilter) apply(all []operations.Job) ([]operations.Job, error) {
	owners, labels := map[string]bool{}, map[string]bool{}
	for _, j := range all {
		owners[j.Owner] = j.Owner != ""
		for name, value := range j.Labels {
			labels[name], labels[name+"="+value] = true, true
		}
	}
	if f.owner != "" && !owners[f.owner] {
		return nil, command.Usage("no job has the owner %q%s", f.owner, suggest.DidYouMean(f.owner, slices.Sorted(maps.Keys(owners))))
	}
	for _, l := range f.labels {
		if !labels[l] {
			return nil, command.Usage("no job has the label %q; use name=value or a name%s", l,
				suggest.DidYouMean(l, slices.Sorted(maps.Keys(labels))))
		}
	}
	return slices.DeleteFunc(all, func(j operations.Job) bool { return !f.takes(j) }), nil
}

func (f jobFilter) takes(j operations.Job) bool {
	for _, l := range f.labels {
		name, want, exact := strings.Cut(l, "=")
		if value, has := j.Labels[name]; !has || exact && value != want {
			return false
		}
	}
	return f.owner == "" || j.Owner == f.owner
}

func labelText(j operations.Job) string { return jobs.Metadata{Labels: j.Labels}.LabelText() }
