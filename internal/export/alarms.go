package export

// alarms tell of what no retry mends. The logs' metrics are of this stack alone.
func (t *template) alarms() {
	name := "The registry " + t.reg.Name() + ": "
	t.alarm("DeadLettersAlarm", name+"an event could not be answered; it waits in the dead-letter queue", object{
		"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible", "Statistic": "Maximum",
		"Dimensions": []object{{"Name": "QueueName", "Value": object{"Fn::GetAtt": []string{"DeadLetters", "QueueName"}}}},
		"Period":     60, "EvaluationPeriods": 1,
	})
	function := []object{{"Name": "FunctionName", "Value": ref("Function")}}
	t.alarm("ErrorsAlarm", name+"the function fails again and again", object{
		"Namespace": "AWS/Lambda", "MetricName": "Errors", "Statistic": "Sum", "Dimensions": function,
		// A single error is mended by the next delivery.
		"Period": 300, "EvaluationPeriods": 3, "DatapointsToAlarm": 2,
	})
	t.alarm("ThrottlesAlarm", name+"events wait for a function; reserve more concurrency", object{
		"Namespace": "AWS/Lambda", "MetricName": "Throttles", "Statistic": "Sum", "Dimensions": function,
		"Period": 300, "EvaluationPeriods": 1,
	})
	t.logMetric("DeadRuns", `{ $.msg = "run is dead*" }`)
	t.alarm("DeadRunsAlarm", name+"a run has failed for good", object{
		"Namespace": metricNamespace(), "MetricName": "DeadRuns", "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1,
	})
	if t.options.Stateless {
		return
	}
	t.logMetric("Ticks", `{ $.msg = "tick finished" }`)
	t.alarm("TickAlarm", name+"no tick finishes; nothing accounts for what events left", object{
		"Namespace": metricNamespace(), "MetricName": "Ticks", "Statistic": "Sum",
		"Period": seconds(3 * t.tickEvery()), "EvaluationPeriods": 1,
		"ComparisonOperator": "LessThanThreshold", "TreatMissingData": "breaching",
	})
}

// metricNamespace keeps the stacks of an account apart: a metric of a log filter
// has no dimension that names its stack.
func metricNamespace() object { return substitute("cronce/${AWS::StackName}") }

// logMetric counts the log lines that match a pattern.
func (t *template) logMetric(name, pattern string) {
	t.out.Resources[name] = Resource{Type: "AWS::Logs::MetricFilter", Properties: object{
		"LogGroupName":  ref("Logs"),
		"FilterPattern": pattern,
		"MetricTransformations": []object{
			{"MetricNamespace": metricNamespace(), "MetricName": name, "MetricValue": "1", "DefaultValue": 0},
		},
	}}
}

// alarm is one that something happened at all, unless its properties say otherwise.
func (t *template) alarm(id, description string, properties object) {
	p := object{
		"AlarmDescription":   description,
		"Threshold":          1,
		"ComparisonOperator": "GreaterThanOrEqualToThreshold",
		"TreatMissingData":   "notBreaching",
		"AlarmActions":       []any{when("HasAlarmTopic", ref("AlarmTopic"))},
	}
	for name, value := range properties {
		p[name] = value
	}
	t.out.Resources[id] = Resource{Type: "AWS::CloudWatch::Alarm", Properties: p}
}
