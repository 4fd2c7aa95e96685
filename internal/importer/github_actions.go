package importer

import (
	"cmp"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// workflow has the fields of a GitHub Actions workflow that the importer reads.
type workflow struct {
	Name string   `yaml:"name"`
	On   triggers `yaml:"on"`
}

// triggers are a name, a list of names, or a mapping, which alone can have schedules.
type triggers struct {
	Schedule []trigger `yaml:"schedule"`
}

func (t *triggers) UnmarshalYAML(node ast.Node) error {
	if kind := node.Type(); kind != ast.MappingType && kind != ast.MappingValueType {
		return nil
	}
	type plain triggers
	return yaml.NodeToValue(node, (*plain)(t))
}

type trigger struct {
	line     int
	Cron     string `yaml:"cron"`
	Timezone string `yaml:"timezone"`
}

func (t *trigger) UnmarshalYAML(node ast.Node) error {
	type plain trigger
	err := yaml.NodeToValue(node, (*plain)(t))
	t.line = node.GetToken().Position.Line
	return err
}

// gitHubActions refuses each schedule of the workflows and says why: GitHub has no call that
// is safe to repeat.
func (b *builder) gitHubActions(files []File) error {
	return eachDocument(files, "write them out", func(f File, line int, body ast.Node) error {
		var w workflow
		if err := yaml.NodeToValue(body, &w); err != nil {
			return fmt.Errorf("%s:%d: not a workflow of GitHub Actions; the importer reads .github/workflows/*.yml", f.Name, line)
		}
		for _, t := range w.On.Schedule {
			when := "its schedule"
			if scheduleLike.MatchString(t.Cron) {
				when = fmt.Sprintf("schedule %q", t.Cron)
			}
			if zone := cmp.Or(t.Timezone, "UTC"); shown(zone, maxLabel) && !holdsSecret(zone) {
				when += fmt.Sprintf(", timezone %q", zone)
			}
			b.refuse(&entry{file: f.Name, line: t.line, name: w.Name}, fmt.Errorf("%s starts steps on a runner, and cronce calls HTTP endpoints: "+
				"give the work an endpoint and a job with these times. Do not call GitHub's workflow_dispatch: it takes no idempotency "+
				"key, so a repeated call starts the workflow again", when))
		}
		return nil
	})
}
