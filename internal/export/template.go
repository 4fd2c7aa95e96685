package export

import (
	"encoding/json"
	"fmt"
	"io"
)

// MaxInline is the size in bytes beyond which CloudFormation takes a template
// from a bucket only.
const MaxInline = 51_200

// Template is a CloudFormation template. Its JSON is the same each time: maps
// are written in the order of their keys.
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

// Ticked is a job that the tick drives, and why.
type Ticked struct {
	JobID, Schedule string
	Why             error
}

// Resource is one resource of a template.
type Resource struct {
	// Name is that of a schedule in its group. CloudFormation makes names of its own.
	Name                string         `json:"-"`
	Type                string         `json:"Type"`
	DeletionPolicy      string         `json:"DeletionPolicy,omitempty"`
	UpdateReplacePolicy string         `json:"UpdateReplacePolicy,omitempty"`
	Properties          map[string]any `json:"Properties"`
}

// kept is a resource that outlives the stack, and its own replacement.
func kept(r Resource) Resource {
	r.DeletionPolicy, r.UpdateReplacePolicy = "Retain", "Retain"
	return r
}

func newTemplate(registry string) *Template {
	return &Template{
		Version:     "2010-09-09",
		Description: fmt.Sprintf("The registry %s on EventBridge Scheduler and Lambda, written by cronce export cloudformation", registry),
		Parameters:  map[string]any{},
		Conditions:  map[string]any{},
		Resources:   map[string]Resource{},
		Outputs:     map[string]any{},
	}
}

// Write writes the template as JSON, which CloudFormation takes as it takes
// YAML.
func (t *Template) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(t)
}

// object is a JSON object.
type object = map[string]any

func ref(name string) object        { return object{"Ref": name} }
func arnOf(name string) object      { return object{"Fn::GetAtt": []string{name, "Arn"}} }
func substitute(text string) object { return object{"Fn::Sub": text} }
func when(condition string, then any) object {
	return object{"Fn::If": []any{condition, then, ref("AWS::NoValue")}}
}
func notEmpty(value any) object {
	return object{"Fn::Not": []any{object{"Fn::Equals": []any{value, ""}}}}
}

// statementIf is a statement of a policy under a condition.
func statementIf(condition string, actions []string, resources any) object {
	return when(condition, statement(actions, resources))
}

func statement(actions []string, resources any) object {
	return object{"Effect": "Allow", "Action": actions, "Resource": resources}
}

func policy(name string, statements ...object) object {
	return object{"PolicyName": name, "PolicyDocument": object{"Version": "2012-10-17", "Statement": statements}}
}

// assumedBy lets a service take a role, for this account's resources only.
func assumedBy(service string, bounded bool) object {
	s := object{"Effect": "Allow", "Principal": object{"Service": service}, "Action": "sts:AssumeRole"}
	if bounded {
		s["Condition"] = object{"StringEquals": object{"aws:SourceAccount": ref("AWS::AccountId")}}
	}
	return object{"Version": "2012-10-17", "Statement": []object{s}}
}
