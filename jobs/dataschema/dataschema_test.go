package dataschema_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/dataschema"
)

func TestDataIsCheckedAgainstTheSchema(t *testing.T) {
	s, err := dataschema.Of(jobs.Template{Schema: []byte(`{
		"type":"object","required":["format"],"additionalProperties":false,
		"properties":{"format":{"enum":["pdf","csv"]},"pages":{"type":"integer","maximum":10}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		`{"format":"pdf","pages":10}`:   "",
		``:                              "data: missing property 'format'",
		`{"format":"doc"}`:              "data.format: value must be one of 'pdf', 'csv'",
		`{"format":"pdf","pages":"10"}`: "data.pages: got string, want integer",
		`{"format":"pdf","page":1}`:     "data: additional properties 'page' not allowed",
	} {
		err := s.Check([]byte(data))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %q", data, err, want)
		}
	}
}

// The validator computes with exact fractions: of such numbers it takes seconds, or it panics.
func TestNumbersWithHugeExponentsAreRefused(t *testing.T) {
	s, err := dataschema.Of(jobs.Template{Schema: []byte(`{"properties":{"n":{"maximum":100},"list":{"uniqueItems":true}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	for data, refused := range map[string]bool{
		`{"n":1e1000001}`: true, `{"n":-1E-1000001}`: true, `{"n":1e99999999999999999999}`: true, `{"list":[{"a":[1e900000]},1e900001]}`: true,
		`{"n":1e401}`: true, `{"n":1e-400}`: false, `{"n":9.9e1}`: false,
	} {
		if err := s.Check([]byte(data)); (err != nil) != refused || refused && !strings.Contains(err.Error(), "use at most 400") {
			t.Errorf("%s: %v", data, err)
		}
	}
}

func TestATemplateWithoutSchemaTakesAnyData(t *testing.T) {
	s, err := dataschema.Of(jobs.Template{})
	if err == nil {
		err = s.Check([]byte(`{"anything":1}`))
	}
	if err != nil {
		t.Error(err)
	}
}

func TestASchemaThatCannotBeUsedIsAProblemOfItsJob(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"objekt"}`:                    "type",
		`{"$ref":"https://example.com/s"}`:     "refers to https://example.com/s",
		`{"$ref":"file:///etc/passwd"}`:        "refers to file:///etc/passwd",
		`{"properties":{"a":{"pattern":"("}}}`: "pattern",
	} {
		r, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Template{Job: jobs.Job{ID: "a", TargetURLEnv: "A", Path: "/a"}, Max: 1, Schema: []byte(schema)})
		if err != nil {
			t.Fatal(err)
		}
		got := dataschema.Problems(r)
		if len(got) != 1 || got[0].Job != "a" || got[0].Code != jobs.CodeBadSchema || !strings.Contains(got[0].Message, want) {
			t.Errorf("%s: %v, want a problem with %q", schema, got, want)
		}
	}
}
