package export

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/cronce/cronce/jobs"
)

//go:embed terraform.tf.json.tmpl
var terraformText string

var terraform = template.Must(template.New("").Funcs(template.FuncMap{
	"json": asJSON, "snake": snake, "value": interpolation,
	"text": func(text string) (string, error) { return asJSON(expressions.Replace(text)) },
}).Parse(terraformText))

// Configuration is one of Terraform, in its JSON syntax (.tf.json).
type Configuration struct {
	JSON []byte
	// Ticked are the jobs that AWS's schedules cannot express.
	Ticked []Ticked
}

// reservedVariables are the names that Terraform keeps for the arguments of modules
// ("Input Variables" in its documentation), and those of this module.
var reservedVariables = []string{"source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals", "name", "code"}

// Terraform makes the configuration that has the same meaning as the template of
// CloudFormation, or returns an error for everything that AWS does not take.
func Terraform(r *jobs.Registry, o Options) (*Configuration, error) {
	p := newPlan(r, o)
	if _, err := p.cloudFormation(); err != nil { // which refuses names that clash in both
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(p.byID)) {
		if name := snake(id); slices.Contains(reservedVariables, name) {
			p.refuse("the variable %s would be Terraform's variable %s, which has another meaning; name another in the registry, such as APP_%[1]s",
				p.byID[id], name)
		}
	}
	if len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	var text, indented bytes.Buffer
	err := terraform.Execute(&text, p)
	if err == nil {
		err = json.Indent(&indented, text.Bytes(), "", "  ")
	}
	return &Configuration{indented.Bytes(), p.ticked}, err
}

// Write writes the configuration.
func (c *Configuration) Write(w io.Writer) error {
	_, err := w.Write(c.JSON)
	return err
}

// Name is the default of the function's name and of the schedule group's, of at most 64
// characters.
func (p *plan) Name() string {
	name := strings.ReplaceAll("cronce-"+p.Registry, ".", "-")
	return name[:min(len(name), 64)]
}

// placeholder is a reference in the value of a setting.
var placeholder = regexp.MustCompile(`\$\{[A-Za-z0-9:]+\}`)

// interpolation writes the value of a setting with references as Terraform has them.
func interpolation(value string) (string, error) {
	return asJSON(placeholder.ReplaceAllStringFunc(value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		if known := pseudo[name]; known != "" {
			return "${" + known + "}"
		}
		return "${var." + snake(name) + "}"
	}))
}

// pseudo are CloudFormation's own parameters.
var pseudo = map[string]string{
	"AWS::Partition": "data.aws_partition.current.partition",
	"AWS::Region":    "data.aws_region.current.id",
	"AWS::AccountId": "data.aws_caller_identity.current.account_id",
}

// expressions escapes the characters that begin an expression of Terraform in a text.
var expressions = strings.NewReplacer("${", "$${", "%{", "%%{")

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
