package export

import "regexp"

// The names that the two stores of secrets take, by their API references.
var (
	secretName    = regexp.MustCompile(`^[A-Za-z0-9/_+=.@-]{1,448}$`)
	parameterName = regexp.MustCompile(`^/[A-Za-z0-9/_.-]{0,800}$`)
)

// checkSecretNames refuses a beginning of names that no secret can have.
func (t *template) checkSecretNames() {
	names := t.options.SecretNames
	if names == "" {
		return
	}
	switch t.options.Secrets {
	case SecretsManager:
		if !secretName.MatchString(names) {
			t.refuse("the names of secrets cannot begin with %q; Secrets Manager takes letters, digits and /_+=.@-", names)
		}
	case SSM:
		if !parameterName.MatchString(names) {
			t.refuse("the names of parameters cannot begin with %q; they begin with a slash, and SSM takes letters, digits and /_.-", names)
		}
	case Plain:
		t.refuse("plain secrets have no names; leave out --secret-names, or use --secrets secretsmanager or ssm")
	}
}

// addNamed refers to the secret that bears the variable's name.
func (e *environment) addNamed(variable string) {
	name := e.options.SecretNames + variable
	value := `{"ssm":"` + name + `"}`
	arn := parameterARN(name)
	if e.options.Secrets == SecretsManager {
		value = `{"secretsManager":"` + name + `"}`
		// Secrets Manager adds a dash and six characters to the name.
		arn = substitute("arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:" + name + "-??????")
	}
	e.values[variable] = value
	e.secrets = append(e.secrets, arn)
	e.size += len(variable) + len(value)
}

func parameterARN(name string) object {
	return substitute("arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter" + name)
}

// secretStatements let the function read its secrets.
func (t *template) secretStatements() []object {
	if len(t.secrets) == 0 {
		return nil
	}
	action := "secretsmanager:GetSecretValue"
	if t.options.Secrets == SSM {
		action = "ssm:GetParameter"
	}
	return []object{statement([]string{action}, t.secrets)}
}
