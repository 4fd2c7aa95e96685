package export

import (
	"maps"
	"slices"
)

// roleOfTerraform is a role, whose policies are resources of their own.
func roleOfTerraform() terraformType {
	return terraformType{
		name: "aws_iam_role", named: fixed("name_prefix", "${substr(var.name, 0, 37)}-"),
		attributes: attributes{
			"AssumeRolePolicyDocument": document("assume_role_policy", "_trust"),
			"PermissionsBoundary":      to("permissions_boundary"),
			"Policies": func(c *translation, id string, value any, _ object) {
				for _, p := range value.([]object) {
					policy := object{"name": p["PolicyName"], "role": "${aws_iam_role." + snake(id) + ".id}"}
					document("policy", "")(c, id, p["PolicyDocument"], policy)
					c.add("aws_iam_role_policy", snake(id), policy)
				}
			},
			"ManagedPolicyArns": func(c *translation, id string, value any, _ object) {
				for _, arn := range value.([]any) {
					branches := arn.(object)["Fn::If"].([]any)
					c.add("aws_iam_role_policy_attachment", snake(id), object{
						"count": "${local." + snake(branches[0].(string)) + " ? 1 : 0}",
						"role":  "${aws_iam_role." + snake(id) + ".name}", "policy_arn": c.value(branches[1]),
					})
				}
			},
		},
	}
}

// permissions are the resources that a role's work needs beside the role.
func (c *translation) permissions(role string) []string {
	list := []string{"aws_iam_role_policy." + snake(role)}
	if c.model.Resources[role].Properties["ManagedPolicyArns"] != nil {
		list = append(list, "aws_iam_role_policy_attachment."+snake(role))
	}
	return list
}

// document is an argument with a policy's JSON, which a data source writes.
func document(argument, suffix string) attribute {
	return func(c *translation, id string, value any, out object) {
		var fixed, optional []object
		for _, s := range value.(object)["Statement"].([]object) {
			if branches, ok := s["Fn::If"].([]any); ok {
				optional = append(optional, object{
					"for_each": "${local." + snake(branches[0].(string)) + " ? [true] : []}", "content": c.statement(branches[1].(object)),
				})
				continue
			}
			fixed = append(fixed, c.statement(s))
		}
		arguments := object{"statement": fixed}
		if len(optional) > 0 {
			arguments["dynamic"] = object{"statement": optional}
		}
		out[argument] = "${" + c.read("aws_iam_policy_document", snake(id)+suffix, "json", arguments) + "}"
	}
}

func (c *translation) statement(s object) object {
	out := object{"effect": s["Effect"]}
	if sid := s["Sid"]; sid != nil {
		out["sid"] = sid
	}
	out["actions"] = c.many(s["Action"])
	if resource := s["Resource"]; resource != nil {
		out["resources"] = c.many(resource)
	}
	switch principal := s["Principal"].(type) {
	case string:
		out["principals"] = object{"type": principal, "identifiers": []string{principal}}
	case object:
		out["principals"] = object{"type": "Service", "identifiers": c.many(principal["Service"])}
	}
	if condition, ok := s["Condition"].(object); ok {
		out["condition"] = c.conditions(condition)
	}
	return out
}

// conditions are those of a statement: a test, the key, and its value.
func (c *translation) conditions(condition object) (list []object) {
	for _, test := range slices.Sorted(maps.Keys(condition)) {
		keys := condition[test].(object)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			list = append(list, object{"test": test, "variable": key, "values": c.many(keys[key])})
		}
	}
	return list
}

// many translates a value, or a list of them, to a list.
func (c *translation) many(v any) any {
	switch v.(type) {
	case []any, []string, []object:
		return c.value(v)
	}
	return []any{c.value(v)}
}
