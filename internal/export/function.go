package export

import (
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/jobs"
)

const databaseVariable = "CRONCE_DATABASE_URL"

// parameters are what differs from one stack to another: the variables that
// the registry names, secrets hidden, and where the function stands.
func (t *template) parameters() {
	database := object{"Type": "String", "NoEcho": true, "Description": "postgres://... of the ledger; its tables come with cronce migrate up"}
	if t.options.Tick {
		database["MinLength"] = 1
	} else {
		database["Default"] = ""
		database["Description"] = "postgres://... of the ledger, whose tables come with cronce migrate up; empty: stateless"
		t.out.Conditions["HasDatabase"] = notEmpty(ref("CronceDatabaseUrl"))
	}
	t.out.Parameters["CronceDatabaseUrl"] = database
	t.out.Parameters["AlarmTopic"] = object{"Type": "String", "Default": "", "Description": "the ARN of an SNS topic for alarms; empty: alarms tell nobody"}
	t.out.Parameters["Subnets"] = object{"Type": "CommaDelimitedList", "Default": "", "Description": "subnets of a VPC for the function; empty: none"}
	t.out.Parameters["SecurityGroups"] = object{"Type": "CommaDelimitedList", "Default": "", "Description": "security groups for the function in a VPC"}
	t.out.Conditions["HasAlarmTopic"] = notEmpty(ref("AlarmTopic"))
	t.out.Conditions["InVpc"] = notEmpty(object{"Fn::Join": []any{"", ref("Subnets")}})
}

// environment is the function's, with a parameter for each variable that the
// registry names.
func (t *template) environment() object {
	vars := object{"CRONCE_CONFIG": t.options.Config}
	if t.options.Tick {
		vars[databaseVariable] = ref("CronceDatabaseUrl")
	} else {
		vars[databaseVariable] = when("HasDatabase", ref("CronceDatabaseUrl"))
	}
	add := func(name string, secret bool) {
		if name == "" || vars[name] != nil {
			return
		}
		if why := unsettable(name); why != "" {
			t.refuse("the variable %s: %s; name another in the registry, such as APP_%[1]s", name, why)
			return
		}
		id := logicalID("", lower(name))
		if other, taken := t.variables[id]; taken {
			t.refuse("the variables %s and %s would be one parameter, %s, of the template; rename one of them", other, name, id)
			return
		}
		if _, taken := t.out.Parameters[id]; taken {
			t.refuseName(name, id)
			return
		}
		t.variables[id] = name
		p := object{"Type": "String", "MinLength": 1, "Description": "the function's variable " + name}
		if secret {
			p["NoEcho"] = true
		}
		t.out.Parameters[id], vars[name] = p, ref(id)
	}
	for _, target := range t.reg.Targets() {
		add(target.URLEnv, false)
		add(target.Auth.TokenURLEnv, false)
		add(target.Auth.TokenEnv, true)
		add(target.Auth.ClientIDEnv, true)
		add(target.Auth.ClientSecretEnv, true)
	}
	if t.reg.Cleanup().DisabledBecause == "" {
		for _, s := range t.reg.KeyStores() {
			add(s.URLEnv, true)
		}
	}
	if n := len(t.out.Parameters); n > maxParameters {
		t.refuse("the registry names so many variables that the template would have %d parameters, and CloudFormation takes %d; share targets, or split the registry", n, maxParameters)
	}
	return object{"Variables": vars}
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

func (t *template) function() {
	r := t.out.Resources
	r["Logs"] = Resource{Type: "AWS::Logs::LogGroup", Properties: object{"RetentionInDays": 30}}
	r["FunctionRole"] = Resource{Type: "AWS::IAM::Role", Properties: object{
		"AssumeRolePolicyDocument": assumedBy("lambda.amazonaws.com", false),
		"ManagedPolicyArns": []any{
			when("InVpc", substitute("arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaENIManagementAccess")),
		},
		"Policies": []object{policy("cronce",
			statement([]string{"logs:CreateLogStream", "logs:PutLogEvents"}, arnOf("Logs")),
			statement([]string{"sqs:SendMessage"}, arnOf("DeadLetters")),
		)},
	}}
	r["Function"] = Resource{Type: "AWS::Lambda::Function", Properties: object{
		"Description":   "cronce, registry " + t.reg.Name(),
		"Runtime":       "provided.al2023",
		"Handler":       "bootstrap",
		"Architectures": []string{t.options.Architecture},
		"Code":          t.options.Code,
		"MemorySize":    256,
		"Timeout":       seconds(t.timeout()),
		"Role":          arnOf("FunctionRole"),
		"Environment":   t.environment(),
		"LoggingConfig": object{"LogGroup": ref("Logs")},
		"VpcConfig":     when("InVpc", object{"SubnetIds": ref("Subnets"), "SecurityGroupIds": ref("SecurityGroups")}),
	}}
	r["FunctionEvents"] = Resource{Type: "AWS::Lambda::EventInvokeConfig", Properties: object{
		"FunctionName":             ref("Function"),
		"Qualifier":                "$LATEST",
		"MaximumEventAgeInSeconds": seconds(t.reg.Platform().LambdaEventAge),
		"MaximumRetryAttempts":     2,
		"DestinationConfig":        object{"OnFailure": object{"Destination": arnOf("DeadLetters")}},
	}}
	t.out.Outputs["Function"] = object{"Description": "the function, for aws lambda invoke", "Value": ref("Function")}
}

// queue takes what neither EventBridge Scheduler nor Lambda could deliver.
func (t *template) queue() {
	r := t.out.Resources
	r["DeadLetters"] = Resource{Type: "AWS::SQS::Queue", Properties: object{
		"MessageRetentionPeriod": seconds(14 * 24 * time.Hour),
		"SqsManagedSseEnabled":   true,
	}}
	r["DeadLettersAlarm"] = Resource{Type: "AWS::CloudWatch::Alarm", Properties: object{
		"AlarmDescription":   "An event of the registry " + t.reg.Name() + " could not be answered; it waits in the dead-letter queue",
		"Namespace":          "AWS/SQS",
		"MetricName":         "ApproximateNumberOfMessagesVisible",
		"Dimensions":         []object{{"Name": "QueueName", "Value": object{"Fn::GetAtt": []string{"DeadLetters", "QueueName"}}}},
		"Statistic":          "Maximum",
		"Period":             60,
		"EvaluationPeriods":  1,
		"Threshold":          1,
		"ComparisonOperator": "GreaterThanOrEqualToThreshold",
		"TreatMissingData":   "notBreaching",
		"AlarmActions":       []any{when("HasAlarmTopic", ref("AlarmTopic"))},
	}}
	t.out.Outputs["DeadLetters"] = object{"Description": "the queue of events that could not be answered", "Value": ref("DeadLetters")}
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// onLedger reports whether a job makes sense only with a ledger.
func onLedger(j jobs.Job) bool { return j.Target == jobs.BuiltinTarget }
