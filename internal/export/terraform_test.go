package export_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/export"
	"github.com/cronce/cronce/jobs"
)

// argument is one of a resource, as the provider's schema has it.
type argument struct {
	Type     string
	Required bool
	Block    map[string]argument
	Single   bool
}

// providerSchema is the part of the provider's schema that scripts/check-terraform
// keeps in testdata.
type providerSchema struct {
	Types map[string]struct {
		Arguments  map[string]argument
		Attributes []string
	}
}

type tfConfiguration struct {
	Variable, Locals, Output map[string]any
	Data, Resource           map[string]map[string]map[string]any
}

// terraform is the configuration of a registry, as Terraform reads it.
func terraform(t *testing.T, reg *jobs.Registry, o export.Options) (c tfConfiguration) {
	t.Helper()
	configuration, err := export.Terraform(reg, o)
	if err == nil {
		err = json.Unmarshal(configuration.JSON, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func readJSON(t *testing.T, file string, to any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Every argument of every resource is one that the provider has, of its type, and
// none is left out that it requires.
func TestTerraformHoldsToTheProvidersSchema(t *testing.T) {
	var schema providerSchema
	readJSON(t, "terraform-schema.json", &schema)
	for name := range exports {
		var c tfConfiguration
		readJSON(t, name+".golden.tf.json", &c)
		if len(c.Resource) < 10 {
			t.Errorf("%s has %d types of resources", name, len(c.Resource))
		}
		check := func(prefix string, all map[string]map[string]map[string]any) {
			for typ, list := range all {
				known, ok := schema.Types[prefix+typ]
				if !ok {
					t.Errorf("%s: the schema has no %s%s", name, prefix, typ)
				}
				for id, r := range list {
					for _, problem := range violations(known.Arguments, r) {
						t.Errorf("%s: %s%s.%s: %s", name, prefix, typ, id, problem)
					}
				}
			}
		}
		check("", c.Resource)
		check("data.", c.Data)
	}
}

// The test above would find a mistake of each kind.
func TestViolationsAreFound(t *testing.T) {
	known := map[string]argument{
		"name": {Type: "string", Required: true}, "size": {Type: "number"}, "target": {Single: true, Block: map[string]argument{"arn": {Type: "string", Required: true}}},
	}
	for want, r := range map[string]map[string]any{
		"no argument colour":    {"name": "a", "colour": "red"},
		"name is required":      {"size": 1.0},
		"size is not a number":  {"name": "a", "size": true},
		"target: arn is":        {"name": "a", "target": map[string]any{}},
		"target: no argument":   {"name": "a", "dynamic": map[string]any{"target": map[string]any{"content": map[string]any{"arn": "x", "y": 1}}}},
		"target is there twice": {"name": "a", "target": []any{map[string]any{"arn": "x"}, map[string]any{"arn": "y"}}},
		"target is not a block": {"name": "a", "target": "x"},
		"no block colour":       {"name": "a", "dynamic": map[string]any{"colour": map[string]any{}}},
		"name is not a string":  {"name": []any{"a"}},
	} {
		if got := strings.Join(violations(known, r), "; "); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", r, got, want)
		}
	}
}

var meta = []string{"count", "depends_on", "lifecycle"}

func violations(known map[string]argument, r map[string]any) (found []string) {
	dynamic, _ := r["dynamic"].(map[string]any)
	for name, value := range r {
		a, ok := known[name]
		switch {
		case name == "dynamic" || slices.Contains(meta, name):
		case !ok:
			found = append(found, "no argument "+name)
		case a.Block == nil:
			found = append(found, mistyped(name, a.Type, value)...)
		default:
			found = append(found, blockViolations(name, a, value)...)
		}
	}
	for name, value := range dynamic {
		if known[name].Block == nil {
			found = append(found, "no block "+name)
			continue
		}
		list, several := value.([]any)
		if !several {
			list = []any{value}
		}
		for _, d := range list {
			found = append(found, blockViolations(name, known[name], d.(map[string]any)["content"])...)
		}
	}
	for name, a := range known {
		if a.Required && r[name] == nil && dynamic[name] == nil {
			found = append(found, name+" is required")
		}
	}
	return found
}

func blockViolations(name string, a argument, value any) (found []string) {
	list, several := value.([]any)
	if !several {
		list = []any{value}
	}
	if a.Single && len(list) > 1 {
		found = append(found, name+" is there twice")
	}
	for _, b := range list {
		content, ok := b.(map[string]any)
		if !ok {
			return append(found, name+" is not a block")
		}
		for _, problem := range violations(a.Block, content) {
			found = append(found, name+": "+problem)
		}
	}
	return found
}

func mistyped(name, typ string, value any) []string {
	text, isText := value.(string)
	ok := isText && strings.HasPrefix(text, "${") // an expression, whose type the references have
	switch value.(type) {
	case string:
		ok = ok || typ == "string" || typ == "number" && regexp.MustCompile(`^\d+$`).MatchString(text)
	case float64:
		ok = typ == "number" || typ == "string" // Terraform converts a number to a text
	case bool:
		ok = typ == "bool"
	case []any:
		ok = typ == "list"
	case map[string]any:
		ok = typ == "map"
	}
	if !ok {
		return []string{fmt.Sprintf("%s is not a %s: %v", name, typ, value)}
	}
	return nil
}

var tfReference = regexp.MustCompile(`\b(var|local)\.(\w+)|\b(data\.)?(aws_\w+)\.(\w+)(?:\.(\w+))?`)

// Every reference is to something that the configuration declares, and to an
// attribute that it has.
func TestTerraformsReferencesAreDeclared(t *testing.T) {
	var schema providerSchema
	readJSON(t, "terraform-schema.json", &schema)
	for name := range exports {
		var c tfConfiguration
		readJSON(t, name+".golden.tf.json", &c)
		text, err := os.ReadFile(filepath.Join("testdata", name+".golden.tf.json"))
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		for _, m := range tfReference.FindAllStringSubmatch(string(text), -1) {
			declared := c.Resource
			if m[3] != "" {
				declared = c.Data
			}
			attribute := m[6] == "" || schema.Types[m[3]+m[4]].Arguments[m[6]].Type != "" || slices.Contains(schema.Types[m[3]+m[4]].Attributes, m[6])
			switch {
			case m[1] == "var" && c.Variable[m[2]] == nil, m[1] == "local" && c.Locals[m[2]] == nil,
				m[1] == "" && (declared[m[4]][m[5]] == nil || !attribute):
				t.Errorf("%s: %s is not declared", name, m[0])
			}
			used[m[0]] = true
		}
		for v := range c.Variable {
			if !used["var."+v] {
				t.Errorf("%s: the variable %s is used nowhere", name, v)
			}
		}
	}
}

// Both formats have the same schedules.
func TestBothFormatsScheduleAlike(t *testing.T) {
	for name, o := range exports {
		template, err := export.CloudFormation(load(t, name), o)
		if err != nil {
			t.Fatal(err)
		}
		configuration := terraform(t, load(t, name), o)
		var one, other []string
		for _, r := range template.Resources {
			if r.Type == "AWS::Scheduler::Schedule" {
				target := r.Properties["Target"].(map[string]any)
				one = append(one, fmt.Sprint(r.Properties["Description"], r.Properties["ScheduleExpression"], r.Properties["ScheduleExpressionTimezone"], target["Input"], target["RetryPolicy"].(map[string]any)["MaximumEventAgeInSeconds"]))
			}
		}
		for _, r := range configuration.Resource["aws_scheduler_schedule"] {
			target := r["target"].(map[string]any)
			other = append(other, fmt.Sprint(r["description"], r["schedule_expression"], r["schedule_expression_timezone"], target["input"], target["retry_policy"].(map[string]any)["maximum_event_age_in_seconds"]))
		}
		slices.Sort(one)
		slices.Sort(other)
		if len(one) == 0 || !slices.Equal(one, other) {
			t.Errorf("%s: CloudFormation has %v, Terraform %v", name, one, other)
		}
	}
}

// Both formats have the same resources, by their names, and their alarms the same conditions.
func TestBothFormatsHaveTheSameResources(t *testing.T) {
	word := regexp.MustCompile(`([a-z])([A-Z])`)
	for name, o := range exports {
		template, err := export.CloudFormation(load(t, name), o)
		if err != nil {
			t.Fatal(err)
		}
		configuration := map[string]map[string]any{}
		for _, resources := range terraform(t, load(t, name), o).Resource {
			maps.Copy(configuration, resources)
		}
		for id, r := range template.Resources {
			other := configuration[strings.ToLower(word.ReplaceAllString(id, "${1}_$2"))]
			if other == nil {
				t.Errorf("%s: Terraform has no %s", name, id)
			}
			for property, value := range r.Properties {
				argument := other[strings.ToLower(word.ReplaceAllString(property, "${1}_$2"))]
				if plain(value) && argument != nil && fmt.Sprint(argument) != fmt.Sprint(value) {
					t.Errorf("%s: %s.%s is %v, Terraform's is %v", name, id, property, value, argument)
				}
			}
		}
		if len(configuration) < len(template.Resources) {
			t.Errorf("%s: Terraform has %d resources, CloudFormation %d", name, len(configuration), len(template.Resources))
		}
	}
}

// plain reports whether a property is a text or a number, which both formats write alike.
func plain(value any) bool {
	switch value.(type) {
	case string, float64:
		return true
	}
	return false
}

// Terraform's own names of variables, and those of the module, are not the registry's.
func TestTerraformsOwnVariablesAreRefused(t *testing.T) {
	for variable, want := range map[string]string{
		"VERSION": "Terraform's variable version", "FOR_EACH": "for_each", "NAME": "name", "CODE": "code", "NAMES": "", "AWS_REGION": "Lambda sets it itself",
	} {
		reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: variable}, job("a", "0 0 * * *"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = export.Terraform(reg, export.Options{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", variable, err, want)
		}
	}
}

// What only a template of CloudFormation has no room for is no limit of Terraform's.
func TestTerraformTakesMoreSchedules(t *testing.T) {
	reg, err := jobs.NewRegistry(append(manyJobs(500, 0), jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"})...)
	if err != nil {
		t.Fatal(err)
	}
	configuration, err := export.Terraform(reg, export.Options{})
	if err != nil || strings.Count(string(configuration.JSON), `"schedule_expression":`) != 502 {
		t.Errorf("%v, %d schedules", err, strings.Count(string(configuration.JSON), `"schedule_expression":`))
	}
}

// A variable takes what the template's parameter takes.
func TestVariablesAreValidated(t *testing.T) {
	configuration := terraform(t, load(t, "schedules"), export.Options{})
	for name, want := range map[string]string{
		"timeout": "${var.timeout >= 37 && var.timeout <= 900}", "tracing": `${contains(["Active", "PassThrough"], var.tracing)}`,
		"kms_key_arn": `${can(regex("^(arn:[^:]+:kms:.+)?$", var.kms_key_arn))}`, "accounting_url": "${length(var.accounting_url) > 0}",
	} {
		rules, _ := configuration.Variable[name].(map[string]any)["validation"].([]any)
		if len(rules) != 1 || rules[0].(map[string]any)["condition"] != want {
			t.Errorf("%s: %v, want %s", name, rules, want)
		}
	}
}

// A name has what AWS and Terraform take, whatever the registry is called.
func TestTheDefaultNameFits(t *testing.T) {
	for registry, want := range map[string]string{"acme.jobs": "cronce-acme-jobs", strings.Repeat("x", 64): "cronce-" + strings.Repeat("x", 57)} {
		reg, err := jobs.NewRegistry(jobs.Name(registry), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, job("a", "0 0 * * *"))
		if err != nil {
			t.Fatal(err)
		}
		if got := terraform(t, reg, export.Options{}).Variable["name"].(map[string]any)["default"]; got != want {
			t.Errorf("%s: %v", registry, got)
		}
	}
}

// Secrets by name need no parameter, and the function may read these alone.
func TestSecretsByName(t *testing.T) {
	for _, tc := range []struct {
		secrets     export.Secrets
		names, want string
		refused     string
	}{
		{export.SecretsManager, "acme/", `:secret:acme/ACCOUNTING_TOKEN-??????`, ""},
		{export.SSM, "/acme/", `:parameter/acme/ACCOUNTING_TOKEN`, ""},
		{export.SSM, "acme/", "", "they begin with a slash"},
		{export.SecretsManager, "ac me", "", `cannot begin with "ac me"`},
		{export.SecretsManager, "${x}", "", `cannot begin with`},
		{export.Plain, "acme/", "", "plain secrets have no names"},
	} {
		template, err := export.CloudFormation(load(t, "named"), export.Options{Secrets: tc.secrets, SecretNames: tc.names})
		if tc.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%v: %v", tc, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(template.Resources["FunctionRole"].Properties["Policies"])
		if err != nil || !strings.Contains(string(text), tc.want) {
			t.Errorf("%v: %v: %s", tc, err, text)
		}
		if names := slices.Collect(maps.Keys(template.Parameters)); slices.Contains(names, "AccountingToken") || slices.Contains(names, "CronceDatabaseUrl") {
			t.Errorf("%v: parameters %v", tc, names)
		}
	}
}
