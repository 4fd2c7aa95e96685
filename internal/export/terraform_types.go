package export

// terraformType is the resource of Terraform for one of CloudFormation.
type terraformType struct {
	name string
	// ref is the attribute that Ref returns.
	ref string
	// named gives the resource a name.
	named      func(id string, r Resource, out object)
	attributes attributes
	// also are arguments that every such resource has.
	also object
	// kept are those of a resource that outlives the stack.
	kept object
}

// attributes are the translations of properties, by their names.
type attributes map[string]attribute

// attribute translates a property of a resource into arguments.
type attribute func(c *translation, id string, value any, out object)

func (c *translation) attributes(id string, known attributes, properties, out object) {
	for name, value := range properties {
		translate, ok := known[name]
		if !ok {
			c.fail("the property %s of %s", name, id)
			continue
		}
		translate(c, id, value, out)
	}
}

// to is an argument with the property's value.
func to(name string) attribute {
	return func(c *translation, _ string, value any, out object) { out[name] = c.value(value) }
}

// block is a block with the properties of an object. One under a condition is
// there once or never.
func block(name string, known attributes) attribute {
	return func(c *translation, id string, value any, out object) {
		content := object{}
		if branches, optional := value.(object)["Fn::If"].([]any); optional {
			c.attributes(id, known, branches[1].(object), content)
			out["dynamic"] = object{name: object{"for_each": "${local." + snake(branches[0].(string)) + " ? [true] : []}", "content": content}}
			return
		}
		c.attributes(id, known, value.(object), content)
		out[name] = content
	}
}

// only is the first of a list that has one.
func only(of attribute) attribute {
	return func(c *translation, id string, value any, out object) {
		switch list := value.(type) {
		case []object:
			of(c, id, list[0], out)
		default:
			c.fail("the list %v of %s", value, id)
		}
	}
}

func fixed(argument, name string) func(string, Resource, object) {
	return func(_ string, _ Resource, out object) { out[argument] = name }
}

// byID are names that begin with the stack's and end with the resource's.
func byID(argument, begin string) func(string, Resource, object) {
	return func(id string, _ Resource, out object) { out[argument] = begin + id }
}

// The types whose references have a meaning of their own.
const (
	roleType     = "AWS::IAM::Role"
	logGroupType = "AWS::Logs::LogGroup"
)
