package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cronce/cronce/jobs"
)

// Configuration is one of Terraform, in its JSON syntax (.tf.json).
type Configuration struct {
	Comment   string                       `json:"//"`
	Terraform object                       `json:"terraform"`
	Variables map[string]object            `json:"variable"`
	Locals    object                       `json:"locals"`
	Data      map[string]map[string]object `json:"data,omitempty"`
	Resources map[string]map[string]object `json:"resource"`
	Outputs   map[string]object            `json:"output"`
	// Ticked are the jobs that AWS's schedules cannot express.
	Ticked []Ticked `json:"-"`
}

// Terraform makes the configuration that has the same meaning as the template of
// CloudFormation, or returns an error for everything that AWS does not take.
func Terraform(r *jobs.Registry, o Options) (*Configuration, error) {
	t := build(r, o)
	c := &translation{model: t.out, out: newConfiguration(t), types: terraformTypes()}
	c.variables(t)
	for _, id := range slices.Sorted(maps.Keys(t.out.Conditions)) {
		c.out.Locals[snake(id)] = "${" + c.condition(t.out.Conditions[id]) + "}"
	}
	for _, id := range slices.Sorted(maps.Keys(t.out.Resources)) {
		c.resource(id, t.out.Resources[id])
	}
	for id, output := range t.out.Outputs {
		c.out.Outputs[snake(id)] = object{"description": output.(object)["Description"], "value": c.value(output.(object)["Value"])}
	}
	if problems := append(t.problems, c.problems...); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return c.out, nil
}

// Write writes the configuration as JSON.
func (c *Configuration) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(c)
}

func newConfiguration(t *template) *Configuration {
	return &Configuration{
		Comment: fmt.Sprintf("The registry %s on EventBridge Scheduler and Lambda, written by cronce export terraform", t.reg.Name()),
		Terraform: object{
			"required_version":   ">= 1.3",
			"required_providers": object{"aws": object{"source": "hashicorp/aws", "version": ">= 6.0"}},
		},
		Variables: map[string]object{},
		Locals:    object{},
		Data:      map[string]map[string]object{},
		Resources: map[string]map[string]object{},
		Outputs:   map[string]object{},
		Ticked:    t.out.Ticked,
	}
}

// translation is one from the model to a configuration.
type translation struct {
	model    *Template
	types    map[string]terraformType
	out      *Configuration
	problems []error
	// after are the resources that the one in translation depends on beyond its references.
	after []string
}

// fail records what the model has and the translation does not know: a mistake in
// this package, which its tests find.
func (c *translation) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("no translation to Terraform of "+format, args...))
}

// resource translates one resource, and with it what Terraform has as resources
// beside it.
func (c *translation) resource(id string, r Resource) {
	t, known := c.types[r.Type]
	if !known {
		c.fail("the type %s", r.Type)
		return
	}
	c.after = nil
	out := object{}
	if t.named != nil {
		t.named(id, r, out)
	}
	c.attributes(id, t.attributes, r.Properties, out)
	maps.Copy(out, t.also)
	switch {
	case r.DeletionPolicy != "" && t.kept == nil:
		c.fail("the deletion policy of %s", id)
	case r.DeletionPolicy != "":
		maps.Copy(out, t.kept)
	}
	if len(c.after) > 0 {
		out["depends_on"] = c.after
	}
	c.add(t.name, snake(id), out)
}

func (c *translation) add(typ, name string, r object) {
	if c.out.Resources[typ] == nil {
		c.out.Resources[typ] = map[string]object{}
	}
	c.out.Resources[typ][name] = r
}

// read adds a data source, and returns the reference to one of its attributes.
func (c *translation) read(typ, name, attribute string, arguments object) string {
	if c.out.Data[typ] == nil {
		c.out.Data[typ] = map[string]object{}
	}
	c.out.Data[typ][name] = arguments
	return "data." + typ + "." + name + "." + attribute
}

// snake writes a logical ID as Terraform writes names: DeadLetters is dead_letters.
func snake(id string) string {
	var b strings.Builder
	for i, r := range id {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
