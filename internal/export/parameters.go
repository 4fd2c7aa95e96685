package export

import (
	"maps"
	"slices"

	"github.com/cronce/cronce/jobs"
)

const databaseVariable = "CRONCE_DATABASE_URL"

// parameters are what differs from one stack to another, apart from the
// registry's variables. Each that may be empty has a condition.
func (t *template) parameters() {
	p := t.out.Parameters
	optional := func(name, condition, pattern, description string) {
		p[name] = object{"Type": "String", "Default": "", "AllowedPattern": "^(" + pattern + ")?$", "Description": description}
		t.out.Conditions[condition] = notEmpty(ref(name))
	}
	optional("AlarmTopic", "HasAlarmTopic", `arn:[^:]+:sns:.+`, "ARN of the SNS topic for alarms; empty: alarms send no notification")
	optional("KmsKeyArn", "HasKmsKey", `arn:[^:]+:kms:.+`, "ARN of a KMS key for the queue, the logs, the schedules, the function's variables and its secrets; empty: AWS's keys")
	optional("PermissionsBoundary", "HasBoundary", `arn:[^:]+:iam::.+`, "ARN of the policy that bounds the roles; empty: none")
	p["ReservedConcurrency"] = object{
		"Type": "String", "Default": "10", "AllowedPattern": "^([1-9][0-9]*)?$",
		"Description": "Functions at once, each with one connection to the ledger; must be less than the database has free. Empty: none is reserved",
	}
	t.out.Conditions["HasConcurrency"] = notEmpty(ref("ReservedConcurrency"))
	p["Architecture"] = object{"Type": "String", "Default": t.options.Architecture, "AllowedValues": []string{"arm64", "x86_64"}, "Description": "Must be that of the zip"}
	p["MemorySize"] = object{"Type": "Number", "Default": 256, "MinValue": 128, "MaxValue": 10240, "Description": "MB of the function"}
	least, enough := t.timeouts()
	p["Timeout"] = object{
		"Type": "Number", "Default": seconds(enough), "MinValue": seconds(least), "MaxValue": seconds(maxFunctionTime),
		"Description": "Seconds that the function may take; the least is the longest timeout of a job and 5 s",
	}
	p["LogRetentionDays"] = object{
		"Type": "Number", "Default": 30, "Description": "Days for which logs are kept",
		"AllowedValues": []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653},
	}
	p["Tracing"] = object{"Type": "String", "Default": "Active", "AllowedValues": []string{"Active", "PassThrough"}, "Description": "AWS X-Ray"}
	p["Subnets"] = object{"Type": "CommaDelimitedList", "Default": "", "Description": "Subnets of a VPC for the function; empty: none"}
	p["SecurityGroups"] = object{"Type": "CommaDelimitedList", "Default": "", "Description": "Security groups for the function in a VPC"}
	t.out.Conditions["InVpc"] = notEmpty(object{"Fn::Join": []any{"", ref("Subnets")}})
}

// Sizes that values of variables are assumed to have, where only a deployment
// knows them.
const (
	assumedURL       = 40
	assumedSecret    = 48
	assumedARN       = 100
	assumedParameter = 30
)

// environment is the function's, with a parameter for each variable that the
// registry names.
func (t *template) environment() object {
	e := &environment{template: t, values: object{"CRONCE_CONFIG": t.options.Config}, size: len("CRONCE_CONFIG") + len(t.options.Config)}
	if !t.options.Stateless {
		e.add(databaseVariable, true)
	}
	for _, target := range t.reg.Targets() {
		if target.URLEnv != "" {
			e.add(target.URLEnv, false)
		}
		e.add(target.Auth.TokenURLEnv, false)
		for _, secret := range target.Secrets() {
			if secret.File != "" {
				t.refuse("target %q takes a secret from %s, and the function has no such file; refer to a variable ({ env: NAME }), which the template fills from Secrets Manager or SSM", target.Name, secret)
			}
			if target.Auth.Type != jobs.AuthSigV4 || !ownCredentials[secret.Env] {
				e.add(secret.Env, true)
			}
		}
	}
	for _, c := range t.reg.Channels() { // not called over HTTP, so no target; the registry names the variable all the same
		if c.SMTP.File != "" {
			t.refuse("channel %q takes a secret from %s, and the function has no such file; refer to a variable ({ env: NAME })", c.Name, c.SMTP)
		}
		e.add(c.SMTP.Env, true)
	}
	if t.purges() {
		for _, s := range t.reg.KeyStores() {
			e.add(s.URLEnv, true)
		}
	}
	if e.size > maxEnvironment {
		t.refuse("the function's variables would have about %d bytes, and Lambda takes %d; share targets, keep secrets in SSM under short names (--secrets ssm), or split the registry", e.size, maxEnvironment)
	}
	return object{"Variables": e.values}
}

// purges reports whether the function makes the nightly purge, which needs the
// key stores' URLs.
func (t *template) purges() bool {
	return t.reg.Cleanup().DisabledBecause == "" && !t.options.Stateless
}

// environment is one that is being made; size is about how large it will be.
type environment struct {
	*template
	values object
	size   int
}

func (e *environment) add(name string, secret bool) {
	if name == "" || e.values[name] != nil {
		return
	}
	if why := unsettable(name); why != "" {
		e.refuse("the variable %s: %s; name another in the registry, such as APP_%[1]s", name, why)
		return
	}
	if secret && e.options.SecretNames != "" {
		e.addNamed(name)
		return
	}
	id := logicalID("", lower(name))
	if other, taken := e.variables[id]; taken {
		e.refuse("the variables %s and %s would be one parameter, %s, of the template; rename one of them", other, name, id)
		return
	}
	if _, taken := e.out.Parameters[id]; taken {
		e.refuseName(name, id)
		return
	}
	e.variables[id] = name
	parameter, value, size := e.parameter(name, id, secret)
	e.out.Parameters[id], e.values[name] = parameter, value
	e.size += len(name) + size
}

// parameter is a variable's parameter, the variable's value, and about how long
// that will be.
func (e *environment) parameter(name, id string, secret bool) (parameter, value object, size int) {
	p := object{"Type": "String", "MinLength": 1, "Description": "The function's variable " + name}
	if !secret {
		return p, ref(id), assumedURL
	}
	switch e.options.Secrets {
	case SecretsManager:
		p["AllowedPattern"] = "^arn:[^:]+:secretsmanager:.+$"
		p["Description"] = "ARN of the Secrets Manager secret with the function's variable " + name
		e.secrets = append(e.secrets, ref(id))
		return p, substitute(`{"secretsManager":"${` + id + `}"}`), len(`{"secretsManager":""}`) + assumedARN
	case SSM:
		p["AllowedPattern"] = "^/.+$"
		p["Description"] = "Name, from / on, of the parameter in SSM with the function's variable " + name
		e.secrets = append(e.secrets, parameterARN("${"+id+"}"))
		return p, substitute(`{"ssm":"${` + id + `}"}`), len(`{"ssm":""}`) + assumedParameter
	}
	p["NoEcho"] = true
	return p, ref(id), assumedSecret
}

// names refuses variables whose parameters would bear the name of a resource or
// a condition: CloudFormation has one set of logical names for them all.
func (t *template) names() {
	for _, id := range slices.Sorted(maps.Keys(t.variables)) {
		_, resource := t.out.Resources[id]
		_, condition := t.out.Conditions[id]
		if resource || condition {
			t.refuseName(t.variables[id], id)
		}
	}
}

func (t *template) refuseName(variable, id string) {
	t.refuse("the variable %s would be the parameter %s, and the template has something else of that name; name another in the registry, such as APP_%[1]s", variable, id)
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
