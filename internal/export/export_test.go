package export_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/export"
	"github.com/cronce/cronce/jobs"
)

var update = os.Getenv("UPDATE_GOLDEN") != ""

// exports are the options of the golden files.
var exports = map[string]export.Options{
	"schedules": {},
	"stateless": {Stateless: true, Secrets: export.Plain},
	"ssm":       {Secrets: export.SSM},
	"named":     {SecretNames: "acme/jobs/"},
	"tick":      {Tick: true, Architecture: "x86_64", Code: "function.zip", Config: "conf/jobs.yaml"},
}

func TestCloudFormation(t *testing.T) {
	for name, o := range exports {
		t.Run(name, func(t *testing.T) {
			template, err := export.CloudFormation(load(t, name), o)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".golden.json", template.Write)
		})
	}
}

func TestTerraform(t *testing.T) {
	for name, o := range exports {
		t.Run(name, func(t *testing.T) {
			configuration, err := export.Terraform(load(t, name), o)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".golden.tf.json", configuration.Write)
		})
	}
}

func load(t *testing.T, name string) *jobs.Registry {
	t.Helper()
	reg, err := jobs.Load(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// golden holds what is written against a file.
func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var got bytes.Buffer
	if err := write(&got); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("differs from %s (UPDATE_GOLDEN=1 writes it anew):\n%s", file, got.String())
	}
}

func job(id, schedule string, change ...func(*jobs.Job)) jobs.Job {
	j := jobs.Job{ID: id, Schedule: schedule, Target: "svc", Path: "/" + id}
	for _, c := range change {
		c(&j)
	}
	return j
}

// manyJobs are so many jobs, beside the nightly purge.
func manyJobs(enabled, disabled int) (list []jobs.Entry) {
	for i := range enabled + disabled {
		list = append(list, job(fmt.Sprint("job-", i), "0 0 * * *", func(j *jobs.Job) { j.Disabled = i >= enabled }))
	}
	return list
}

func manyTargets(n int) (list []jobs.Entry) {
	for i := range n {
		list = append(list, jobs.Target{Name: fmt.Sprint("t", i), URLEnv: fmt.Sprintf("T%d_URL", i)})
	}
	return list
}

// Every variable that AWS's guide lists as reserved.
func TestLambdasOwnVariablesAreRefused(t *testing.T) {
	for _, name := range strings.Fields(`_HANDLER _X_AMZN_TRACE_ID AWS_DEFAULT_REGION AWS_REGION AWS_EXECUTION_ENV AWS_LAMBDA_FUNCTION_NAME
		AWS_LAMBDA_FUNCTION_MEMORY_SIZE AWS_LAMBDA_FUNCTION_VERSION AWS_LAMBDA_INITIALIZATION_TYPE AWS_LAMBDA_LOG_GROUP_NAME
		AWS_LAMBDA_LOG_STREAM_NAME AWS_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_LAMBDA_RUNTIME_API
		LAMBDA_TASK_ROOT LAMBDA_RUNTIME_DIR`) {
		reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: name}, job("a", "0 0 * * *"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := export.CloudFormation(reg, export.Options{}); err == nil || !strings.Contains(err.Error(), "the variable "+name+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A function signs with the credentials of its role, which need no parameter.
func TestAFunctionSignsWithItsOwnCredentials(t *testing.T) {
	own := jobs.Auth{
		Type: jobs.AuthSigV4, Region: "eu-west-1", Service: "lambda", AccessKeyID: jobs.Secret{Env: "AWS_ACCESS_KEY_ID"},
		SecretAccessKey: jobs.Secret{Env: "AWS_SECRET_ACCESS_KEY"}, SessionToken: jobs.Secret{Env: "AWS_SESSION_TOKEN"},
	}
	other := jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{Env: "AWS_SESSION_TOKEN"}}
	for _, tc := range []struct {
		auth    jobs.Auth
		refused bool
	}{{own, false}, {other, true}} {
		reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL", Auth: tc.auth}, job("a", "0 0 * * *"))
		if err != nil {
			t.Fatal(err)
		}
		template, err := export.CloudFormation(reg, export.Options{})
		if (err != nil) != tc.refused {
			t.Fatalf("%s: %v", tc.auth.Type, err)
		}
		var text bytes.Buffer
		if err == nil && (template.Write(&text) != nil || strings.Contains(text.String(), "AWS_SECRET")) {
			t.Errorf("the template has the function's own variables:\n%s", text.String())
		}
	}
}

func TestWhatAWSCannotExpressIsRefusedByName(t *testing.T) {
	events, tick, stateless := export.Options{}, export.Options{Tick: true}, export.Options{Stateless: true}
	long := func(j *jobs.Job) { j.Timeout = 20 * time.Minute; j.Retry.Backoff = []time.Duration{} }
	zoned := func(j *jobs.Job) { j.Timezone = "America/New_York" }
	within := func(j *jobs.Job) { j.Async.Within = time.Hour }
	for name, tc := range map[string]struct {
		entry []jobs.Entry
		by    export.Options
		want  string
	}{
		"seconds":                      {[]jobs.Entry{job("a", "*/10 * * * * *")}, stateless, `job "a" (*/10 * * * * *): AWS has no seconds`},
		"dst: once where clocks turn":  {[]jobs.Entry{job("a", "30 2 * * *", zoned)}, stateless, `job "a" (30 2 * * *): its times fall into the hour that a clock change of America/New_York skips or repeats`},
		"a timeout beyond Lambda's":    {[]jobs.Entry{job("a", "0 0 * * *", long)}, tick, `job "a": its timeout is 20m0s`},
		"two jobs with one name":       {[]jobs.Entry{job("a-b", "0 0 * * *"), job("a.b", "0 0 * * *")}, events, `would be one resource, JobAB`},
		"two variables with one name":  {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "SVC__URL"}}, events, `would be one parameter, SvcUrl`},
		"an age that AWS lacks":        {[]jobs.Entry{jobs.Platform{EventAge: 30 * time.Second}}, events, "platform.eventAge is 30s"},
		"Lambda's age":                 {[]jobs.Entry{jobs.Platform{LambdaEventAge: 7 * time.Hour}}, events, "platform.lambdaEventAge is 7h0m0s"},
		"a variable of Lambda's own":   {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "AWS_REGION"}}, tick, "the variable AWS_REGION: Lambda sets it itself"},
		"a variable of a job's name":   {[]jobs.Entry{job("release", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "JOB_RELEASE"}}, events, "the variable JOB_RELEASE would be the parameter JobRelease"},
		"of a job that is ticked":      {[]jobs.Entry{job("release", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "JOB_RELEASE"}}, tick, ""},
		"a variable of a resource's":   {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "FUNCTION"}}, tick, "the variable FUNCTION would be the parameter Function"},
		"a variable of a parameter's":  {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "ALARM_TOPIC"}}, tick, "the variable ALARM_TOPIC would be the parameter AlarmTopic"},
		"a variable of a condition's":  {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "IN_VPC"}}, tick, "the variable IN_VPC would be the parameter InVpc"},
		"a variable's name":            {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "_URL"}}, tick, "the variable _URL: Lambda takes names"},
		"a secret in a file":           {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "TWO_URL", Auth: jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{File: "/run/token"}}}}, stateless, `target "two" takes a secret from the file /run/token, and the function has no such file`},
		"too many variables":           {manyTargets(200), tick, "213 parameters, and CloudFormation takes 200"},
		"too many schedules":           {manyJobs(470, 0), events, "471 enabled jobs"},
		"disabled jobs take no room":   {manyJobs(469, 100), events, ""},
		"a rate of its own":            {[]jobs.Entry{job("a", "rate(7 minutes)")}, stateless, `job "a" (rate(7 minutes)): AWS counts a rate from the deployment`},
		"two ways at once":             {[]jobs.Entry{job("a", "0 0 * * *")}, export.Options{Tick: true, Stateless: true}, "leave out one of --tick and --stateless"},
		"a place that is none":         {[]jobs.Entry{job("a", "0 0 * * *")}, export.Options{Secrets: "vault"}, `unknown place of secrets "vault"`},
		"an architecture that is none": {[]jobs.Entry{job("a", "0 0 * * *")}, export.Options{Architecture: "riscv"}, `unknown architecture "riscv"`},
		"more than 4 KB of variables":  {manyTargets(90), tick, "variables would have about 4"},
		"as many as there is room for": {manyTargets(80), tick, ""},
		"seconds, beside events":       {[]jobs.Entry{job("a", "*/10 * * * * *")}, events, ""},
		"seconds, by a tick":           {[]jobs.Entry{job("a", "*/10 * * * * *")}, tick, ""},
		"dst: once, by a tick":         {[]jobs.Entry{job("a", "30 2 * * *", zoned)}, tick, ""},
		"dst: once, no change near":    {[]jobs.Entry{job("a", "0 12 * * *", zoned)}, events, ""},
		"long work without a ledger":   {[]jobs.Entry{job("a", "0 0 * * *", within)}, stateless, "async needs a ledger"},
		"long work with a ledger":      {[]jobs.Entry{job("a", "0 0 * * *", within)}, events, ""},
		"a disabled job":               {[]jobs.Entry{job("a", "*/10 * * * * *", func(j *jobs.Job) { j.Disabled = true })}, events, ""},
	} {
		t.Run(name, func(t *testing.T) {
			reg, err := jobs.NewRegistry(append(tc.entry, jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"})...)
			if err != nil {
				t.Fatal(err)
			}
			_, err = export.CloudFormation(reg, tc.by)
			switch {
			case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// A tick asks the targets of accepted runs again, as often as their jobs want it.
func TestTheTickComesAsOftenAsAcceptedRunsAreAskedAgain(t *testing.T) {
	for poll, want := range map[time.Duration]string{
		0:               "cron(0/5 * * * ? *)", // no long work
		time.Minute:     "cron(* * * * ? *)",
		5 * time.Minute: "cron(0/5 * * * ? *)",
	} {
		long := job("long", "0 0 * * *", func(j *jobs.Job) {
			if poll > 0 {
				j.Async = jobs.Async{Within: time.Hour, Poll: poll}
			}
		})
		off := job("off", "0 0 * * *", func(j *jobs.Job) { j.Disabled, j.Async = true, jobs.Async{Within: time.Hour, Poll: time.Minute} })
		reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, long, off)
		if err != nil {
			t.Fatal(err)
		}
		template, err := export.CloudFormation(reg, export.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := template.Resources["Tick"].Properties["ScheduleExpression"]; got != want {
			t.Errorf("poll %s: the tick comes %s, want %s", poll, got, want)
		}
	}
}

// What AWS cannot express, the tick drives, and the caller is told; nothing is
// lost when the template is exported and deployed again.
func TestTheTickDrivesWhatAWSCannotExpress(t *testing.T) {
	spread := job("spread", "0 * * * *")
	spread.Spread = time.Minute
	fans := job("fans", "0 * * * *")
	fans.Path, fans.Each = "/{{key}}", jobs.Each{Path: "/list"}
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
		job("seven", "rate(7 minutes)"), job("seconds", "*/10 * * * * *"), job("hourly", "0 * * * *"), spread, fans)
	if err != nil {
		t.Fatal(err)
	}
	template, err := export.CloudFormation(reg, export.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ticked []string
	for _, j := range template.Ticked {
		ticked = append(ticked, j.JobID)
	}
	if !slices.Equal(ticked, []string{"fans", "seconds", "seven", "spread"}) {
		t.Errorf("the tick drives %v", template.Ticked)
	}
	for id, want := range map[string]bool{"JobSeven": false, "JobSeconds": false, "JobHourly": true, "JobSpread": false, "JobFans": false, "Tick": true} {
		if _, got := template.Resources[id]; got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
	if every := template.Resources["Tick"].Properties["ScheduleExpression"]; every != "cron(* * * * ? *)" {
		t.Errorf("the tick comes %s", every)
	}
	for id, r := range template.Resources {
		if r.Properties["StartDate"] != nil {
			t.Errorf("%s has a StartDate, which a deployment moves", id)
		}
	}
}
