package backend

import (
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/keystores"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/dataschema"
	"github.com/cronce/cronce/jobs/retention"
)

// Registry loads the registry file and nothing else.
func (b *Backend) Registry() (*jobs.Registry, error) {
	return jobs.Load(b.Config)
}

// SoundRegistry loads the registry and refuses it for anything that would
// keep it from running well: the environment that it names, and keys that
// could expire before a call's last retry.
func (b *Backend) SoundRegistry() (*jobs.Registry, error) {
	reg, problems := b.CheckRegistry(b.Lookup)
	if len(problems) > 0 {
		return reg, problems
	}
	return reg, nil
}

// CheckRegistry lists all that is wrong with the registry; a nil lookup leaves
// the environment out. The registry is nil unless its file is sound.
func (b *Backend) CheckRegistry(lookup func(string) (string, bool)) (*jobs.Registry, jobs.Problems) {
	reg, problems := retention.CheckFile(b.Config, lookup)
	if reg == nil {
		return reg, problems
	}
	problems = append(problems, dataschema.Problems(reg)...)
	if lookup != nil {
		problems = append(problems, keystores.Check(reg, lookup)...)
	}
	problems.Sort()
	return reg, problems
}

// Job finds one job of the registry.
func Job(reg *jobs.Registry, id string) (jobs.Job, error) {
	j, ok := reg.Job(id)
	if !ok {
		return j, command.Unknown("job", id, reg.IDs(), `"cronce jobs list" lists the registry's jobs`)
	}
	return j, nil
}
