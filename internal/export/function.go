package export

import "time"

func (t *template) function() {
	r := t.out.Resources
	environment := t.environment()
	r["Logs"] = kept(Resource{Type: "AWS::Logs::LogGroup", Properties: object{
		"RetentionInDays": ref("LogRetentionDays"),
		"KmsKeyId":        when("HasKmsKey", ref("KmsKeyArn")),
	}})
	statements := append([]object{
		statement([]string{"logs:CreateLogStream", "logs:PutLogEvents"}, arnOf("Logs")),
		// The queue is the destination of failures and, in a redrive, a source.
		statement([]string{"sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}, arnOf("DeadLetters")),
		statement([]string{"xray:PutTraceSegments", "xray:PutTelemetryRecords"}, "*"), // X-Ray knows no resources
		useKey(),
	}, t.secretStatements()...)
	r["FunctionRole"] = Resource{Type: "AWS::IAM::Role", Properties: object{
		"AssumeRolePolicyDocument": assumedBy("lambda.amazonaws.com", false),
		"PermissionsBoundary":      boundary(),
		"ManagedPolicyArns": []any{
			when("InVpc", substitute("arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaENIManagementAccess")),
		},
		"Policies": []object{policy("cronce", statements...)},
	}}
	r["Function"] = Resource{Type: "AWS::Lambda::Function", Properties: object{
		"Description":                  "cronce, registry " + t.reg.Name(),
		"Runtime":                      "provided.al2023",
		"Handler":                      "bootstrap",
		"Architectures":                []object{ref("Architecture")},
		"Code":                         t.options.Code,
		"MemorySize":                   ref("MemorySize"),
		"Timeout":                      ref("Timeout"),
		"ReservedConcurrentExecutions": when("HasConcurrency", ref("ReservedConcurrency")),
		"Role":                         arnOf("FunctionRole"),
		"Environment":                  environment,
		"KmsKeyArn":                    when("HasKmsKey", ref("KmsKeyArn")),
		"LoggingConfig":                object{"LogGroup": ref("Logs")},
		"TracingConfig":                object{"Mode": ref("Tracing")},
		"VpcConfig":                    when("InVpc", object{"SubnetIds": ref("Subnets"), "SecurityGroupIds": ref("SecurityGroups")}),
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

// boundary is a role's PermissionsBoundary.
func boundary() object { return when("HasBoundary", ref("PermissionsBoundary")) }

// useKey lets a role use the stack's key, which must allow it too.
func useKey() object {
	return statementIf("HasKmsKey", []string{"kms:Decrypt", "kms:GenerateDataKey"}, ref("KmsKeyArn"))
}

// queue takes what neither EventBridge Scheduler nor Lambda could deliver. A
// mapping, switched off, is the way back: an operator's redrive switches it on.
func (t *template) queue() {
	r := t.out.Resources
	r["DeadLetters"] = kept(Resource{Type: "AWS::SQS::Queue", Properties: object{
		"MessageRetentionPeriod": seconds(14 * 24 * time.Hour),
		// A mapping wants at least the function's timeout.
		"VisibilityTimeout":    seconds(maxFunctionTime),
		"KmsMasterKeyId":       when("HasKmsKey", ref("KmsKeyArn")),
		"SqsManagedSseEnabled": object{"Fn::If": []any{"HasKmsKey", ref("AWS::NoValue"), true}},
	}})
	r["DeadLettersPolicy"] = Resource{Type: "AWS::SQS::QueuePolicy", Properties: object{
		"Queues": []object{ref("DeadLetters")},
		"PolicyDocument": object{"Version": "2012-10-17", "Statement": []object{{
			"Sid": "TLSOnly", "Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": arnOf("DeadLetters"),
			"Condition": object{"Bool": object{"aws:SecureTransport": "false"}},
		}}},
	}}
	r["Redrive"] = Resource{Type: "AWS::Lambda::EventSourceMapping", Properties: object{
		"EventSourceArn":        arnOf("DeadLetters"),
		"FunctionName":          ref("Function"),
		"Enabled":               false,
		"BatchSize":             10,
		"FunctionResponseTypes": []string{"ReportBatchItemFailures"},
		"ScalingConfig":         object{"MaximumConcurrency": 2},
	}}
	t.out.Outputs["DeadLetters"] = object{"Description": "the queue of events that could not be answered", "Value": ref("DeadLetters")}
	t.out.Outputs["Redrive"] = object{"Description": "the event source mapping that sends them to the function again, for aws lambda update-event-source-mapping --uuid", "Value": ref("Redrive")}
}

func seconds(d time.Duration) int { return int(d / time.Second) }
