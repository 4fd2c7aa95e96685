package export

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// reservedVariables are the names that Terraform keeps for the arguments of modules
// ("Input Variables" in its documentation).
var reservedVariables = []string{"source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"}

// maxName is the length of a function's name and of a schedule group's.
const maxName = 64

// terraformVariables are the stack's parameters, and what CloudFormation knows without
// one: the stack's name, and the zip.
func (t *template) terraformVariables() object {
	variables := object{}
	for _, id := range slices.Sorted(maps.Keys(t.out.Parameters)) {
		name := snake(id)
		if variable, ours := t.variables[id]; ours && (slices.Contains(reservedVariables, name) || name == "name" || name == "code") {
			t.refuse("the variable %s would be Terraform's variable %s, which has another meaning; name another in the registry, such as APP_%[1]s", variable, name)
			continue
		}
		variables[name] = variable(name, t.out.Parameters[id].(object))
	}
	name := strings.ReplaceAll("cronce-"+t.reg.Name(), ".", "-")
	variables["name"] = object{
		"type": "string", "nullable": false, "default": name[:min(len(name), maxName)],
		"description": "Names the function, and begins the names of the other resources",
		"validation":  []object{matching("name", `^[A-Za-z0-9_-]{1,64}$`)},
	}
	variables["code"] = object{"type": "string", "nullable": false, "default": t.options.Code, "description": "The function's zip"}
	return variables
}

// variable translates a parameter.
func variable(name string, p object) object {
	v := object{"description": p["Description"], "nullable": false}
	switch p["Type"] {
	case "CommaDelimitedList":
		v["type"] = "list(string)"
	case "Number":
		v["type"] = "number"
	default:
		v["type"] = "string"
	}
	if otherwise, ok := p["Default"]; ok {
		v["default"] = otherwise
		if p["Type"] == "CommaDelimitedList" {
			v["default"] = []string{}
		}
	}
	if p["NoEcho"] == true {
		v["sensitive"] = true
	}
	if rules := validations(name, p); len(rules) > 0 {
		v["validation"] = rules
	}
	return v
}

// validations are what CloudFormation would refuse in a parameter.
func validations(name string, p object) (rules []object) {
	if pattern, ok := p["AllowedPattern"].(string); ok {
		rules = append(rules, matching(name, pattern))
	}
	if p["MinLength"] != nil && p["AllowedPattern"] == nil {
		rules = append(rules, rule(name, "length(var."+name+") > 0", "must not be empty"))
	}
	if values := p["AllowedValues"]; values != nil {
		list := listOf(values)
		rules = append(rules, rule(name, "contains("+list+", var."+name+")", "must be one of "+strings.ReplaceAll(strings.Trim(list, "[]"), `"`, "")))
	}
	if least, ok := p["MinValue"].(int); ok {
		most := p["MaxValue"].(int)
		rules = append(rules, rule(name, fmt.Sprintf("var.%s >= %d && var.%s <= %d", name, least, name, most), fmt.Sprintf("must be from %d to %d", least, most)))
	}
	return rules
}

func matching(name, pattern string) object {
	return rule(name, "can(regex("+quote(pattern)+", var."+name+"))", "must match "+escape(pattern))
}

func rule(name, condition, message string) object {
	return object{"condition": "${" + condition + "}", "error_message": "The variable " + name + " " + message + "."}
}

// listOf writes the values that a parameter may have as a list.
func listOf(values any) string {
	var list []string
	switch values := values.(type) {
	case []string:
		for _, v := range values {
			list = append(list, quote(v))
		}
	case []int:
		for _, v := range values {
			list = append(list, strconv.Itoa(v))
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}
