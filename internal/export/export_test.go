package export_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/export"
	"github.com/cronce/cronce/jobs"
)

var update = flag.Bool("update", false, "write the golden files anew")

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestCloudFormation(t *testing.T) {
	for name, o := range map[string]export.Options{
		"schedules": {},
		"tick":      {Tick: true, Architecture: "x86_64", Code: "function.zip", Config: "conf/jobs.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			reg, err := jobs.Load(filepath.Join("testdata", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			o.Now = now
			template, err := export.CloudFormation(reg, o)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := template.Write(&got); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".golden.json")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("differs from %s (go test -update writes it anew):\n%s", golden, got.String())
			}
		})
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
		if _, err := export.CloudFormation(reg, export.Options{Now: now}); err == nil || !strings.Contains(err.Error(), "the variable "+name+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatAWSCannotExpressIsRefusedByName(t *testing.T) {
	long := func(j *jobs.Job) { j.Timeout = 20 * time.Minute; j.Retry.Backoff = []time.Duration{} }
	zoned := func(j *jobs.Job) { j.Timezone = "America/New_York" }
	for name, tc := range map[string]struct {
		entry []jobs.Entry
		tick  bool
		want  string
	}{
		"seconds":                     {[]jobs.Entry{job("a", "*/10 * * * * *")}, false, `job "a" (*/10 * * * * *): AWS has no seconds`},
		"dst: once where clocks turn": {[]jobs.Entry{job("a", "30 2 * * *", zoned)}, false, `job "a" (30 2 * * *): its times fall into the hour that a clock change of America/New_York skips or repeats`},
		"a timeout beyond Lambda's":   {[]jobs.Entry{job("a", "0 0 * * *", long)}, true, `job "a": its timeout is 20m0s`},
		"two jobs with one name":      {[]jobs.Entry{job("a-b", "0 0 * * *"), job("a.b", "0 0 * * *")}, false, `would be one resource, JobAB`},
		"two variables with one name": {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "SVC__URL"}}, false, `would be one parameter, SvcUrl`},
		"an age that AWS lacks":       {[]jobs.Entry{jobs.Platform{EventAge: 30 * time.Second}}, false, "platform.eventAge is 30s"},
		"Lambda's age":                {[]jobs.Entry{jobs.Platform{LambdaEventAge: 7 * time.Hour}}, false, "platform.lambdaEventAge is 7h0m0s"},
		"a variable of Lambda's own":  {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "AWS_REGION"}}, true, "the variable AWS_REGION: Lambda sets it itself"},
		"a variable of a job's name":  {[]jobs.Entry{job("release", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "JOB_RELEASE"}}, false, "the variable JOB_RELEASE would be the parameter JobRelease"},
		"of a job that is ticked":     {[]jobs.Entry{job("release", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "JOB_RELEASE"}}, true, ""},
		"a variable of a resource's":  {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "FUNCTION"}}, true, "the variable FUNCTION would be the parameter Function"},
		"a variable of a parameter's": {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "ALARM_TOPIC"}}, true, "the variable ALARM_TOPIC would be the parameter AlarmTopic"},
		"a variable of a condition's": {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "IN_VPC"}}, true, "the variable IN_VPC would be the parameter InVpc"},
		"a variable's name":           {[]jobs.Entry{job("a", "0 0 * * *"), jobs.Target{Name: "two", URLEnv: "_URL"}}, true, "the variable _URL: Lambda takes names"},
		"too many variables":          {manyTargets(200), true, "205 parameters, and CloudFormation takes 200"},
		"too many schedules":          {manyJobs(480, 0), false, "481 enabled jobs"},
		"disabled jobs take no room":  {manyJobs(479, 100), false, ""},
		"seconds, by a tick":          {[]jobs.Entry{job("a", "*/10 * * * * *")}, true, ""},
		"dst: once, by a tick":        {[]jobs.Entry{job("a", "30 2 * * *", zoned)}, true, ""},
		"dst: once, no change near":   {[]jobs.Entry{job("a", "0 12 * * *", zoned)}, false, ""},
		"a disabled job":              {[]jobs.Entry{job("a", "*/10 * * * * *", func(j *jobs.Job) { j.Disabled = true })}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			reg, err := jobs.NewRegistry(append(tc.entry, jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"})...)
			if err != nil {
				t.Fatal(err)
			}
			_, err = export.CloudFormation(reg, export.Options{Now: now, Tick: tc.tick})
			switch {
			case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// A rate that divides neither hour nor day begins at one of the schedule's own
// instants, so that AWS's instants are the daemon's.
func TestARateBeginsAtAnInstantOfItsOwn(t *testing.T) {
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, job("a", "rate(7 minutes)"))
	if err != nil {
		t.Fatal(err)
	}
	template, err := export.CloudFormation(reg, export.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	start, err := time.Parse(time.RFC3339, template.Resources["JobA"].Properties["StartDate"].(string))
	if err != nil || !start.After(now) || start.Unix()%(7*60) != 0 {
		t.Errorf("StartDate %s, %v", start, err)
	}
}
