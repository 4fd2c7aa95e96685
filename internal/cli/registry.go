package cli

import (
	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/internal/keystores"
	"github.com/cronce/cronce/jobs"
)

// registry loads the registry file and nothing else.
func (a *app) registry() (*jobs.Registry, error) {
	return jobs.Load(a.config)
}

// soundRegistry loads the registry and refuses it for anything that would
// keep it from running well: the environment that it names, and keys that
// could expire before a call's last retry.
func (a *app) soundRegistry() (*jobs.Registry, error) {
	reg, problems := a.checkRegistry(a.lookup)
	if len(problems) > 0 {
		return reg, problems
	}
	return reg, nil
}

// checkRegistry lists all that is wrong with the registry; a nil lookup leaves
// the environment out. The registry is nil unless its file is sound.
func (a *app) checkRegistry(lookup func(string) (string, bool)) (*jobs.Registry, jobs.Problems) {
	reg, problems := cleanup.CheckFile(a.config, lookup)
	if reg != nil && lookup != nil {
		problems = append(problems, keystores.Check(reg, lookup)...)
		problems.Sort()
	}
	return reg, problems
}

// job finds one job of the registry.
func job(reg *jobs.Registry, id string) (jobs.Job, error) {
	j, ok := reg.Job(id)
	if !ok {
		return j, unknown("job", id, jobIDs(reg), `"cronce jobs list" lists the registry's jobs`)
	}
	return j, nil
}

func jobIDs(reg *jobs.Registry) []string {
	ids := make([]string, 0, reg.Len())
	for _, j := range reg.All() {
		ids = append(ids, j.ID)
	}
	return ids
}
