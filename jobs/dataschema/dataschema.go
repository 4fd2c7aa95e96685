// Package dataschema checks the data of schedules that are made at run time against the
// JSON Schema of their template.
package dataschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/cronce/cronce/jobs"
)

// Schema is the JSON Schema of a template (draft 2020-12 by default). The zero Schema
// accepts any data. It is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// address names a schema to the compiler; nothing is read from there.
const address = "template:schema"

// Of compiles the schema of a template. A schema that refers to another document is
// refused: its meaning could change without a review of the registry.
func Of(t jobs.Template) (Schema, error) {
	if t.Schema == nil {
		return Schema{}, nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(t.Schema))
	if err != nil {
		return Schema{}, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(address, document); err != nil {
		return Schema{}, err
	}
	compiled, err := c.Compile(address)
	if err != nil {
		return Schema{}, fmt.Errorf("%s", plain(err))
	}
	return Schema{compiled}, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s; write what it needs into the schema itself", url)
}

// Check returns a jobs.Problem with the first places where data is not as the schema wants
// it. No data is an empty object.
func (s Schema) Check(data []byte) error {
	if s.compiled == nil {
		return nil
	}
	if len(data) == 0 {
		data = []byte("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = checkNumbers(value)
	}
	if err == nil {
		err = s.compiled.Validate(value)
	}
	if err != nil {
		return jobs.Problem{Code: jobs.CodeBadData, Message: "data does not match the template's schema: " + plain(err)}
	}
	return nil
}

// maxExponent bounds the exponents of numbers: the library computes with exact fractions, in
// which 1e999999 has a million digits. It panics at still larger ones.
const maxExponent = 400

func checkNumbers(value any) error {
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			if err := checkNumbers(member); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case json.Number:
		if i := strings.IndexAny(v.String(), "eE"); i >= 0 {
			if n, err := strconv.Atoi(v.String()[i+1:]); err != nil || n > maxExponent || n < -maxExponent {
				return fmt.Errorf("a number has the exponent %.20s; use at most %d", v.String()[i+1:], maxExponent)
			}
		}
	}
	return nil
}

// Problems returns the templates of a registry whose schema cannot be used.
func Problems(r *jobs.Registry) jobs.Problems {
	var found jobs.Problems
	for _, t := range r.Templates() {
		if _, err := Of(t); err != nil {
			found = append(found, r.JobProblem(t.ID, "keyed.schema", jobs.CodeBadSchema, "schema is not a JSON Schema: "+err.Error()))
		}
	}
	found.Sort()
	return found
}

var printer = message.NewPrinter(language.English)

// maxShown is the maximum number of mistakes in a message.
const maxShown = 3

// plain returns an error on one line: each mistake with its place.
func plain(err error) string {
	invalid, is := errors.AsType[*jsonschema.ValidationError](err)
	if bad, of := errors.AsType[*jsonschema.SchemaValidationError](err); of {
		invalid, is = errors.AsType[*jsonschema.ValidationError](bad.Err)
	}
	if !is {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return strings.ReplaceAll(line, address, "schema")
	}
	mistakes := leaves(invalid, nil)
	more := ""
	if len(mistakes) > maxShown {
		mistakes, more = mistakes[:maxShown], fmt.Sprintf("; and %d more", len(mistakes)-maxShown)
	}
	return strings.Join(mistakes, "; ") + more
}

func leaves(e *jsonschema.ValidationError, to []string) []string {
	if len(e.Causes) == 0 {
		return append(to, strings.Join(append([]string{"data"}, e.InstanceLocation...), ".")+": "+e.ErrorKind.LocalizedString(printer))
	}
	for _, cause := range e.Causes {
		to = leaves(cause, to)
	}
	return to
}
