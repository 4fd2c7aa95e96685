package jobs

import "github.com/goccy/go-yaml/ast"

func (s *Secret) fields() []fileField {
	return []fileField{
		{"env", str(&s.Env), "The environment variable that holds the secret. In a Lambda it may hold " +
			`{"secretsManager":"ARN"} or {"ssm":"NAME"}.`},
		{"file", str(&s.File), "Absolute path of the file that holds the secret, without a line break at its end. " +
			"A changed file is used within a second; if it cannot be read, the last value is kept."},
	}
}

// secret is where a secret is.
type secret struct{ to *Secret }

func (s secret) decode(d *decoder, path string, n ast.Node) { fieldsOf(s.to).decode(d, path, n) }
func (secret) schema() schema                               { return fieldsOf(new(Secret)).schema() }
func (secret) check(*report, string)                        {}
func (secret) inherit(kind)                                 {}

// secrets are secrets by name.
type secrets struct{ to *map[string]Secret }

func (s secrets) decode(d *decoder, path string, n ast.Node) {
	*s.to = map[string]Secret{}
	d.mapping(path, n, func(name, path string, value ast.Node) {
		var one Secret
		d.value(path, value, secret{&one})
		(*s.to)[name] = one
	})
}

func (secrets) schema() schema {
	return schema{"type": "object", "additionalProperties": secret{}.schema()}
}
func (secrets) check(*report, string) {}
func (secrets) inherit(kind)          {}
