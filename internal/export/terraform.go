package export

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	texttemplate "text/template"

	"github.com/cronce/cronce/jobs"
)

// terraformText has the resources of the template of CloudFormation as hashicorp/aws
// has them. What the registry and the options decide is filled in from that template.
//
//go:embed terraform.tf.json.tmpl
var terraformText string

var terraform = texttemplate.Must(texttemplate.New("").Funcs(texttemplate.FuncMap{
	"json": asJSON,
	"text": func(text string) (string, error) { return asJSON(escape(text)) },
}).Parse(terraformText))

func asJSON(v any) (string, error) {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSpace(text.String()), err
}

// Configuration is one of Terraform, in its JSON syntax (.tf.json).
type Configuration struct {
	JSON []byte
	// Ticked are the jobs that AWS's schedules cannot express.
	Ticked []Ticked
}

// Terraform makes the configuration that has the same meaning as the template of
// CloudFormation, or returns an error for everything that AWS does not take.
func Terraform(r *jobs.Registry, o Options) (*Configuration, error) {
	t := build(r, o)
	variables := t.terraformVariables()
	if len(t.problems) > 0 {
		return nil, errors.Join(t.problems...)
	}
	function := t.out.Resources["Function"].Properties
	var text, indented bytes.Buffer
	err := terraform.Execute(&text, object{
		"Comment":     fmt.Sprintf("The registry %s on EventBridge Scheduler and Lambda, written by cronce export terraform", r.Name()),
		"Variables":   variables,
		"Resources":   t.out.Resources,
		"Schedules":   t.terraformSchedules(),
		"Environment": terraformValue(function["Environment"].(object)["Variables"]),
		"Secrets":     terraformValue(t.secretStatements()),
	})
	if err == nil {
		err = json.Indent(&indented, text.Bytes(), "", "  ")
	}
	return &Configuration{indented.Bytes(), t.out.Ticked}, err
}

// Write writes the configuration.
func (c *Configuration) Write(w io.Writer) error {
	_, err := w.Write(c.JSON)
	return err
}

// terraformSchedule is a schedule with its name as a resource.
type terraformSchedule struct {
	ID string
	Resource
}

func (t *template) terraformSchedules() (list []terraformSchedule) {
	for _, id := range slices.Sorted(maps.Keys(t.out.Resources)) {
		if r := t.out.Resources[id]; r.Type == "AWS::Scheduler::Schedule" {
			list = append(list, terraformSchedule{snake(id), r})
		}
	}
	return list
}

// terraformValue translates the values of variables and the names of secrets, in which
// CloudFormation refers to parameters and to what it knows itself.
func terraformValue(v any) any {
	switch v := v.(type) {
	case string:
		return escape(v)
	case []object:
		return each(v)
	case []any:
		return each(v)
	case object:
		if name, ok := v["Ref"].(string); ok {
			return "${" + reference(name) + "}"
		}
		if text, ok := v["Fn::Sub"].(string); ok {
			return substituted(text)
		}
		out := object{}
		for name, value := range v {
			out[name] = terraformValue(value)
		}
		return out
	}
	return v
}

func each[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = terraformValue(v)
	}
	return out
}

// placeholder is a reference in the text of Fn::Sub.
var placeholder = regexp.MustCompile(`\$\{[A-Za-z0-9:]+\}`)

func substituted(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(ref string) string { return "${" + reference(ref[2:len(ref)-1]) + "}" })
}

// pseudo are CloudFormation's own parameters.
var pseudo = map[string]string{
	"AWS::Partition": "data.aws_partition.current.partition",
	"AWS::Region":    "data.aws_region.current.id",
	"AWS::AccountId": "data.aws_caller_identity.current.account_id",
}

func reference(name string) string {
	if known := pseudo[name]; known != "" {
		return known
	}
	return "var." + snake(name)
}

// expressions are what Terraform would read as the beginning of an expression in a text.
var expressions = strings.NewReplacer("${", "$${", "%{", "%%{")

func escape(text string) string { return expressions.Replace(text) }

// quote writes a text as it stands in an expression. Go's form of the texts of this
// package is also Terraform's.
func quote(text string) string { return strconv.Quote(escape(text)) }

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
