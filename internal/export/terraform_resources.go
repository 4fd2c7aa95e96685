package export

// terraformTypes are hashicorp/aws's resources for those of the model. Every
// property of the model has its arguments here.
func terraformTypes() map[string]terraformType {
	return map[string]terraformType{
		"AWS::Lambda::Function":           function(),
		"AWS::Lambda::EventInvokeConfig":  eventInvokeConfig(),
		"AWS::Lambda::EventSourceMapping": eventSourceMapping(),
		"AWS::Scheduler::ScheduleGroup":   {name: "aws_scheduler_schedule_group", ref: "name", named: fixed("name", "${var.name}")},
		"AWS::Scheduler::Schedule":        scheduleType(),
		"AWS::SQS::Queue":                 queueType(),
		"AWS::SQS::QueuePolicy": {name: "aws_sqs_queue_policy", attributes: attributes{
			"Queues":         func(c *translation, _ string, value any, out object) { out["queue_url"] = c.value(value.([]object)[0]) },
			"PolicyDocument": document("policy", ""),
		}},
		roleType:                  roleOfTerraform(),
		logGroupType:              logGroup(),
		"AWS::Logs::MetricFilter": metricFilter(),
		"AWS::CloudWatch::Alarm":  alarmType(),
	}
}

func function() terraformType {
	return terraformType{
		name: "aws_lambda_function", ref: "function_name", named: fixed("function_name", "${var.name}"),
		attributes: attributes{
			"Description": to("description"), "Runtime": to("runtime"), "Handler": to("handler"), "Architectures": to("architectures"),
			"MemorySize": to("memory_size"), "Timeout": to("timeout"), "ReservedConcurrentExecutions": to("reserved_concurrent_executions"),
			"Role": to("role"), "KmsKeyArn": to("kms_key_arn"),
			"Code": func(_ *translation, _ string, _ any, out object) {
				out["filename"], out["source_code_hash"] = "${var.code}", "${filebase64sha256(var.code)}"
			},
			"Environment": block("environment", attributes{"Variables": to("variables")}),
			"LoggingConfig": func(c *translation, _ string, value any, out object) {
				out["logging_config"] = object{"log_format": "Text", "log_group": c.value(value.(object)["LogGroup"])}
			},
			"TracingConfig": block("tracing_config", attributes{"Mode": to("mode")}),
			"VpcConfig":     block("vpc_config", attributes{"SubnetIds": to("subnet_ids"), "SecurityGroupIds": to("security_group_ids")}),
		},
	}
}

func eventInvokeConfig() terraformType {
	return terraformType{name: "aws_lambda_function_event_invoke_config", attributes: attributes{
		"FunctionName": to("function_name"), "Qualifier": to("qualifier"),
		"MaximumEventAgeInSeconds": to("maximum_event_age_in_seconds"), "MaximumRetryAttempts": to("maximum_retry_attempts"),
		"DestinationConfig": block("destination_config", attributes{"OnFailure": block("on_failure", attributes{"Destination": to("destination")})}),
	}}
}

func eventSourceMapping() terraformType {
	return terraformType{
		name: "aws_lambda_event_source_mapping", ref: "uuid",
		attributes: attributes{
			"EventSourceArn": to("event_source_arn"), "FunctionName": to("function_name"), "Enabled": to("enabled"),
			"BatchSize": to("batch_size"), "FunctionResponseTypes": to("function_response_types"),
			"ScalingConfig": block("scaling_config", attributes{"MaximumConcurrency": to("maximum_concurrency")}),
		},
		// An operator's redrive switches it on and off.
		also: object{"lifecycle": object{"ignore_changes": []string{"enabled"}}},
	}
}

func scheduleType() terraformType {
	return terraformType{
		name: "aws_scheduler_schedule", named: func(_ string, r Resource, out object) { out["name"] = r.Name },
		attributes: attributes{
			"Description": to("description"), "GroupName": to("group_name"), "State": to("state"), "KmsKeyArn": to("kms_key_arn"),
			"ScheduleExpression": to("schedule_expression"), "ScheduleExpressionTimezone": to("schedule_expression_timezone"),
			"FlexibleTimeWindow": block("flexible_time_window", attributes{"Mode": to("mode")}),
			"Target": block("target", attributes{
				"Arn": to("arn"), "RoleArn": to("role_arn"), "Input": to("input"),
				"RetryPolicy": block("retry_policy", attributes{
					"MaximumEventAgeInSeconds": to("maximum_event_age_in_seconds"), "MaximumRetryAttempts": to("maximum_retry_attempts"),
				}),
				"DeadLetterConfig": block("dead_letter_config", attributes{"Arn": to("arn")}),
			}),
		},
	}
}

func queueType() terraformType {
	return terraformType{
		name: "aws_sqs_queue", ref: "url", named: byID("name", "${var.name}-"),
		attributes: attributes{
			"MessageRetentionPeriod": to("message_retention_seconds"), "VisibilityTimeout": to("visibility_timeout_seconds"),
			"KmsMasterKeyId": to("kms_master_key_id"), "SqsManagedSseEnabled": to("sqs_managed_sse_enabled"),
		},
		// The provider cannot leave a queue behind.
		kept: object{"lifecycle": object{"prevent_destroy": true}},
	}
}

func logGroup() terraformType {
	return terraformType{
		name: "aws_cloudwatch_log_group", ref: "name", named: fixed("name_prefix", "/cronce/${var.name}-"),
		attributes: attributes{"RetentionInDays": to("retention_in_days"), "KmsKeyId": to("kms_key_id")},
		kept:       object{"skip_destroy": true},
	}
}

func metricFilter() terraformType {
	return terraformType{
		name: "aws_cloudwatch_log_metric_filter", named: byID("name", ""),
		attributes: attributes{
			"LogGroupName": to("log_group_name"), "FilterPattern": to("pattern"),
			"MetricTransformations": only(block("metric_transformation", attributes{
				"MetricNamespace": to("namespace"), "MetricName": to("name"), "MetricValue": to("value"), "DefaultValue": to("default_value"),
			})),
		},
	}
}

func alarmType() terraformType {
	return terraformType{
		name: "aws_cloudwatch_metric_alarm", named: byID("alarm_name", "${var.name}-"),
		attributes: attributes{
			"AlarmDescription": to("alarm_description"), "Namespace": to("namespace"), "MetricName": to("metric_name"), "Statistic": to("statistic"),
			"Period": to("period"), "EvaluationPeriods": to("evaluation_periods"), "DatapointsToAlarm": to("datapoints_to_alarm"),
			"Threshold": to("threshold"), "ComparisonOperator": to("comparison_operator"), "TreatMissingData": to("treat_missing_data"),
			"AlarmActions": to("alarm_actions"),
			"Dimensions": func(c *translation, _ string, value any, out object) {
				dimensions := object{}
				for _, d := range value.([]object) {
					dimensions[d["Name"].(string)] = c.value(d["Value"])
				}
				out["dimensions"] = dimensions
			},
		},
	}
}
