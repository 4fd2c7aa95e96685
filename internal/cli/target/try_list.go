package target

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/internal/cli/caller"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
)

// tryTarget is a target as try lists it.
type tryTarget struct {
	Name   string `json:"name"`
	URLEnv string `json:"urlEnv"`
	State  string `json:"state"`
}

// tryJobLine is a job that can be tried.
type tryJobLine struct {
	ID     string `json:"id"`
	Call   string `json:"call"`
	Target string `json:"target"`
	LastAt string `json:"lastScheduledAt,omitempty"`
}

// listTries says whether the targets of the registry listen, and which jobs call them.
func (a *app) listTries(ctx context.Context) error {
	reg, err := a.Registry()
	if err != nil {
		return err
	}
	look, err := caller.NewProbe(a.Env)
	if err != nil {
		return err
	}
	list := struct {
		Targets []tryTarget  `json:"targets"`
		Jobs    []tryJobLine `json:"jobs"`
	}{[]tryTarget{}, []tryJobLine{}}
	used := map[string]bool{}
	for _, j := range reg.All() {
		if j.Target != jobs.BuiltinTarget && !j.Disabled {
			used[j.Target] = true
			list.Jobs = append(list.Jobs, tryJobLine{j.ID, j.Method + " " + j.Path, j.Target, operations.TimeText(j.ParsedSchedule().Last(a.Now()))})
		}
	}
	for _, t := range reg.Targets() {
		if used[t.Name] {
			state, _ := look(ctx, t)
			list.Targets = append(list.Targets, tryTarget{t.Name, t.URLEnv, state})
		}
	}
	if a.Encoded() {
		return a.Encode(list)
	}
	t := a.Table("TARGET", "VARIABLE", "STATE")
	for _, x := range list.Targets {
		t.Row(x.Name, x.URLEnv, x.State)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	t = a.Table("JOB", "CALL", "TARGET", "LAST SCHEDULED")
	for _, j := range list.Jobs {
		t.Row(j.ID, j.Call, j.Target, j.LastAt)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "\n%s of %s; \"cronce try JOB\" makes its call\n", plural.Of(len(list.Jobs), "job"), a.Config)
	return err
}
