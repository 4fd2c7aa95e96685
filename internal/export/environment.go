package export

import (
	"slices"

	"github.com/cronce/cronce/jobs"
)

const databaseVariable = "CRONCE_DATABASE_URL"

// Sizes that values of variables are assumed to have, where only a deployment
// knows them.
const (
	assumedURL       = 40
	assumedSecret    = 48
	assumedARN       = 100
	assumedParameter = 30
)

// environment lists the function's variables, with a parameter for each that the
// registry names.
func (p *plan) environment() {
	p.SecretAction = map[Secrets]string{SecretsManager: "secretsmanager:GetSecretValue", SSM: "ssm:GetParameter"}[p.Secrets]
	p.size = len("CRONCE_CONFIG") + len(p.Config)
	if !p.Stateless {
		p.add(databaseVariable, true)
	}
	for _, target := range p.reg.Targets() {
		if target.URLEnv != "" {
			p.add(target.URLEnv, false)
		}
		p.add(target.Auth.TokenURLEnv, false)
		for _, secret := range target.Secrets() {
			if secret.File != "" {
				p.refuse("target %q takes a secret from %s, and the function has no such file; refer to a variable ({ env: NAME }), which "+
					"the template fills from Secrets Manager or SSM", target.Name, secret)
			}
			if target.Auth.Type != jobs.AuthSigV4 || !ownCredentials[secret.Env] {
				p.add(secret.Env, true)
			}
		}
	}
	for _, c := range p.reg.Channels() { // not called over HTTP, so no target; the registry names the variable all the same
		if c.SMTP.File != "" {
			p.refuse("channel %q takes a secret from %s, and the function has no such file; refer to a variable ({ env: NAME })", c.Name, c.SMTP)
		}
		p.add(c.SMTP.Env, true)
	}
	if p.purges() {
		for _, s := range p.reg.KeyStores() {
			p.add(s.URLEnv, true)
		}
	}
	if p.size > maxEnvironment {
		p.refuse("the function's variables would have about %d bytes, and Lambda takes %d; share targets, keep secrets in SSM under "+
			"short names (--secrets ssm), or split the registry", p.size, maxEnvironment)
	}
}

// purges reports whether the function makes the nightly purge, which needs the
// key stores' URLs.
func (p *plan) purges() bool {
	return p.reg.Cleanup().DisabledBecause == "" && !p.Stateless
}

func (p *plan) add(name string, secret bool) {
	if name == "" || slices.ContainsFunc(p.Environment, func(s setting) bool { return s.Name == name }) {
		return
	}
	if why := unsettable(name); why != "" {
		p.refuse("the variable %s: %s; name another in the registry, such as APP_%[1]s", name, why)
		return
	}
	if secret && p.SecretNames != "" {
		p.addNamed(name)
		return
	}
	id := logicalID("", lower(name))
	if other, taken := p.byID[id]; taken {
		p.refuse("the variables %s and %s would be one parameter, %s, of the template; rename one of them", other, name, id)
		return
	}
	p.byID[id] = name
	parameter, value, size := p.parameter(name, id, secret)
	p.Variables = append(p.Variables, parameter)
	p.Environment = append(p.Environment, setting{name, value})
	p.size += len(name) + size
}

// parameter is a variable's parameter, the variable's value, and about how long
// that will be.
func (p *plan) parameter(name, id string, secret bool) (v variable, value string, size int) {
	v, value = variable{ID: id, Description: "The function's variable " + name}, "${"+id+"}"
	if !secret {
		return v, value, assumedURL
	}
	switch p.Secrets {
	case SecretsManager:
		v.Pattern = "^arn:[^:]+:secretsmanager:.+$"
		v.Description = "ARN of the Secrets Manager secret with the function's variable " + name
		p.SecretARNs = append(p.SecretARNs, value)
		return v, `{"secretsManager":"` + value + `"}`, len(`{"secretsManager":""}`) + assumedARN
	case SSM:
		v.Pattern = "^/.+$"
		v.Description = "Name, from / on, of the parameter in SSM with the function's variable " + name
		p.SecretARNs = append(p.SecretARNs, parameterARN(value))
		return v, `{"ssm":"` + value + `"}`, len(`{"ssm":""}`) + assumedParameter
	}
	v.Plain = true
	return v, value, assumedSecret
}

// lower keeps the first letter of each word of a variable's name.
func lower(name string) string {
	out := []byte(name)
	for i, c := range out {
		if i > 0 && out[i-1] != '_' && c >= 'A' && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// onLedger reports whether a job makes sense only with a ledger.
func onLedger(j jobs.Job) bool { return j.Target == jobs.BuiltinTarget }
