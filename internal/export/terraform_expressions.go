package export

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// templates are what Terraform would read as the beginning of an expression in a text.
var templates = strings.NewReplacer("${", "$${", "%{", "%%{")

func escape(text string) string { return templates.Replace(text) }

// quote writes a text as it stands in an expression. Go's form of the texts of this
// package is also Terraform's.
func quote(text string) string { return strconv.Quote(escape(text)) }

// value translates a value to JSON, in which a text that holds ${...} is an expression.
func (c *translation) value(v any) any {
	switch v := v.(type) {
	case string:
		return escape(v)
	case []object:
		return c.list(anys(v))
	case []string:
		return c.list(anys(v))
	case []any:
		return c.list(v)
	case object:
		if text, ok := v["Fn::Sub"].(string); ok {
			return c.substituted(text)
		}
		if isFunction(v) {
			return "${" + c.expression(v) + "}"
		}
		out := object{}
		for name, value := range v {
			out[name] = c.value(value)
		}
		return out
	}
	return v
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// list translates a list. Terraform has no value that leaves itself out of a list.
func (c *translation) list(list []any) any {
	values, expressions, optional := []any{}, []string{}, false
	for _, v := range list {
		if o, ok := v.(object); ok && o["Fn::If"] != nil {
			optional = true
		}
		values = append(values, v)
	}
	for i, v := range values {
		if optional {
			expressions = append(expressions, c.expression(v))
			continue
		}
		values[i] = c.value(v)
	}
	if optional {
		return "${[for v in [" + strings.Join(expressions, ", ") + "] : v if v != null]}"
	}
	return values
}

func isFunction(v object) bool {
	return v["Ref"] != nil || v["Fn::GetAtt"] != nil || v["Fn::If"] != nil
}

// expression translates a value to an expression.
func (c *translation) expression(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case bool, int:
		return fmt.Sprint(v)
	case object:
		if name, ok := v["Ref"].(string); ok {
			return c.reference(name)
		}
		if at, ok := v["Fn::GetAtt"].([]string); ok {
			return c.attribute(at[0], at[1])
		}
		if branches, ok := v["Fn::If"].([]any); ok {
			return fmt.Sprintf("local.%s ? %s : %s", snake(branches[0].(string)), c.expression(branches[1]), c.expression(branches[2]))
		}
	}
	c.fail("the value %v", v)
	return ""
}

// condition translates a condition of the model, which compares with an empty text.
func (c *translation) condition(v any) string {
	not, _ := v.(object)["Fn::Not"].([]any)
	if len(not) == 1 {
		if equals, ok := not[0].(object)["Fn::Equals"].([]any); ok && len(equals) == 2 {
			if join, ok := equals[0].(object)["Fn::Join"].([]any); ok {
				return "length(" + c.expression(join[1]) + ") > 0"
			}
			return c.expression(equals[0]) + " != " + c.expression(equals[1])
		}
	}
	c.fail("the condition %v", v)
	return ""
}

// placeholder is a reference in the text of Fn::Sub.
var placeholder = regexp.MustCompile(`\$\{[A-Za-z0-9:]+\}`)

func (c *translation) substituted(text string) string {
	var b strings.Builder
	for {
		at := placeholder.FindStringIndex(text)
		if at == nil {
			return b.String() + escape(text)
		}
		b.WriteString(escape(text[:at[0]]) + "${" + c.reference(text[at[0]+2:at[1]-1]) + "}")
		text = text[at[1]:]
	}
}

// reference translates Ref.
func (c *translation) reference(name string) string {
	switch name {
	case "AWS::NoValue":
		return "null"
	case "AWS::StackName":
		return "var.name"
	case "AWS::Partition":
		return c.read("aws_partition", "current", "partition", object{})
	case "AWS::Region":
		return c.read("aws_region", "current", "id", object{})
	case "AWS::AccountId":
		return c.read("aws_caller_identity", "current", "account_id", object{})
	}
	if c.model.Parameters[name] != nil {
		return "var." + snake(name)
	}
	return c.of(name, c.types[c.model.Resources[name].Type].ref)
}

// attributeNames are Terraform's for those of Fn::GetAtt.
var attributeNames = map[string]string{"Arn": "arn", "QueueName": "name"}

func (c *translation) attribute(resource, name string) string {
	switch c.model.Resources[resource].Type {
	case roleType:
		c.after = append(c.after, c.permissions(resource)...)
	case logGroupType:
		// CloudFormation's ARN of a log group is that of its streams.
		return `format("%s:*", ` + c.of(resource, attributeNames[name]) + ")"
	}
	return c.of(resource, attributeNames[name])
}

func (c *translation) of(resource, attribute string) string {
	t, known := c.types[c.model.Resources[resource].Type]
	if !known || attribute == "" {
		c.fail("a reference to %s", resource)
	}
	return t.name + "." + snake(resource) + "." + attribute
}
