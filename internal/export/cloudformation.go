package export

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"text/template"

	"github.com/cronce/cronce/jobs"
)

// MaxInline is the size in bytes beyond which CloudFormation takes a template
// from a bucket only.
const MaxInline = 51_200

//go:embed cloudformation.json.tmpl
var cloudFormationText string

var cloudFormation = template.Must(template.New("").Funcs(template.FuncMap{"json": asJSON, "text": asJSON,
	"value": reference}).Parse(cloudFormationText))

// Template is a CloudFormation template.
type Template struct {
	Version     string              `json:"AWSTemplateFormatVersion"`
	Description string              `json:"Description"`
	Parameters  map[string]any      `json:"Parameters"`
	Conditions  map[string]any      `json:"Conditions"`
	Resources   map[string]Resource `json:"Resources"`
	Outputs     map[string]any      `json:"Outputs"`
	// Ticked are the jobs that AWS's schedules cannot express.
	Ticked []Ticked `json:"-"`
}

// Resource is one resource of a template.
type Resource struct {
	Type                string         `json:"Type"`
	DeletionPolicy      string         `json:"DeletionPolicy,omitempty"`
	UpdateReplacePolicy string         `json:"UpdateReplacePolicy,omitempty"`
	Properties          map[string]any `json:"Properties"`
}

// CloudFormation makes the template, or returns an error for everything that AWS
// does not take.
func CloudFormation(r *jobs.Registry, o Options) (*Template, error) {
	p := newPlan(r, o)
	t, err := p.cloudFormation()
	if err != nil {
		return nil, err
	}
	if p.limits(t); len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	return t, nil
}

// cloudFormation fills in the template, and refuses variables whose parameters would
// have the name of something else in it: CloudFormation has one set of names for all.
func (p *plan) cloudFormation() (*Template, error) {
	own := *p
	own.Variables = nil
	fixed, err := own.rendered()
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(p.byID)) {
		_, parameter := fixed.Parameters[id]
		_, resource := fixed.Resources[id]
		_, condition := fixed.Conditions[id]
		if parameter || resource || condition {
			p.refuse("the variable %s would be the parameter %s, and the template has something else of that name; name another in the "+
				"registry, such as APP_%[1]s", p.byID[id], id)
		}
	}
	return p.rendered()
}

func (p *plan) rendered() (*Template, error) {
	var text bytes.Buffer
	t := &Template{Ticked: p.ticked}
	err := cloudFormation.Execute(&text, p)
	if err == nil {
		err = json.Unmarshal(text.Bytes(), t)
	}
	return t, err
}

// limits refuses what does not fit into one template of CloudFormation.
func (p *plan) limits(t *Template) {
	if n := len(t.Parameters); n > maxParameters {
		p.refuse("the registry names so many variables that the template would have %d parameters, and CloudFormation takes %d; "+
			"share targets, or split the registry", n, maxParameters)
	}
	if p.scheduled > maxSchedules {
		p.refuse("the registry has %d enabled jobs, and a template has room for %d schedules; let a tick drive them (--tick), or "+
			"split the registry", p.scheduled, maxSchedules)
	}
}

// Write writes the template as JSON, which CloudFormation takes as it takes
// YAML. It is the same each time: maps are written in the order of their keys.
func (t *Template) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(t)
}

func asJSON(v any) (string, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return string(bytes.TrimSpace(text.Bytes())), err
}

// reference writes the value of a setting: a reference to a parameter, a text with
// references, or a text.
func reference(value string) (string, error) {
	refs := placeholder.FindAllString(value, -1)
	switch {
	case len(refs) == 1 && refs[0] == value:
		return asJSON(map[string]string{"Ref": value[2 : len(value)-1]})
	case len(refs) > 0:
		return asJSON(map[string]string{"Fn::Sub": value})
	}
	return asJSON(value)
}
