package export

import "regexp"

// The names that the two stores of secrets take, by their API references.
var (
	secretName    = regexp.MustCompile(`^[A-Za-z0-9/_+=.@-]{1,448}$`)
	parameterName = regexp.MustCompile(`^/[A-Za-z0-9/_.-]{0,800}$`)
)

// checkSecretNames refuses a beginning of names that no secret can have.
func (p *plan) checkSecretNames() {
	names := p.SecretNames
	if names == "" {
		return
	}
	switch p.Secrets {
	case SecretsManager:
		if !secretName.MatchString(names) {
			p.refuse("the names of secrets cannot begin with %q; Secrets Manager takes letters, digits and /_+=.@-", names)
		}
	case SSM:
		if !parameterName.MatchString(names) {
			p.refuse("the names of parameters cannot begin with %q; they begin with a slash, and SSM takes letters, digits and /_.-", names)
		}
	case Plain:
		p.refuse("plain secrets have no names; leave out --secret-names, or use --secrets secretsmanager or ssm")
	}
}

// addNamed refers to the secret that bears the variable's name.
func (p *plan) addNamed(variable string) {
	name := p.SecretNames + variable
	value, arn := `{"ssm":"`+name+`"}`, parameterARN(name)
	if p.Secrets == SecretsManager {
		value = `{"secretsManager":"` + name + `"}`
		// Secrets Manager adds a dash and six characters to the name.
		arn = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:" + name + "-??????"
	}
	p.Environment = append(p.Environment, setting{variable, value})
	p.SecretARNs = append(p.SecretARNs, arn)
	p.size += len(variable) + len(value)
}

func parameterARN(name string) string {
	return "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter" + name
}
