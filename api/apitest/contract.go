// Package apitest checks requests and answers of the API against its OpenAPI document.
package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/cronce/cronce/api"
)

// Contract is the document. It is safe for concurrent use.
type Contract struct {
	Operations []Operation

	document any
	mu       sync.Mutex
	compiler *jsonschema.Compiler // guarded by mu
}

// Operation is one method of one path.
type Operation struct {
	ID, Method string
	path       *regexp.Regexp
	// pointer is the operation's place in the document (RFC 6901).
	pointer    string
	parameters []parameter
}

// parameter is a parameter of a request or a header of a response.
type parameter struct {
	in, name string
	required bool
	schema   string // a pointer
	kind     any    // the schema's type
}

// resource names the document to the compiler; nothing is read from there.
const resource = "openapi:document"

// Read reads the document of package api.
func Read() (*Contract, error) {
	text, err := yaml.YAMLToJSON(api.Document)
	if err != nil {
		return nil, err
	}
	c := &Contract{compiler: jsonschema.NewCompiler()}
	if c.document, err = jsonschema.UnmarshalJSON(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource(resource, c.document); err != nil {
		return nil, err
	}
	_, paths := c.follow("/paths")
	for path := range paths {
		pointer := "/paths/" + escape(path)
		_, methods := c.follow(pointer)
		for method := range methods {
			c.Operations = append(c.Operations, c.operation(path, method, pointer+"/"+method))
		}
	}
	_, schemas := c.follow("/components/schemas")
	for name := range schemas {
		if _, err := c.compile("/components/schemas/" + name); err != nil {
			return nil, err
		}
	}
	// A path without parameters is meant where one with parameters matches too.
	slices.SortFunc(c.Operations, func(a, b Operation) int { return strings.Count(a.pointer, "{") - strings.Count(b.pointer, "{") })
	return c, nil
}

var placeholder = regexp.MustCompile(`\\\{(\w+)\\\}`)

func (c *Contract) operation(path, method, pointer string) Operation {
	_, described := c.follow(pointer)
	o := Operation{Method: strings.ToUpper(method), pointer: pointer}
	o.ID, _ = described["operationId"].(string)
	o.path = regexp.MustCompile("^" + placeholder.ReplaceAllString(regexp.QuoteMeta(path), "(?<$1>[^/]+)") + "$")
	parameters, _ := described["parameters"].([]any)
	for i := range parameters {
		o.parameters = append(o.parameters, c.parameter(pointer+"/parameters/"+strconv.Itoa(i)))
	}
	return o
}

func (c *Contract) parameter(pointer string) parameter {
	pointer, described := c.follow(pointer)
	schema, s := c.follow(pointer + "/schema")
	p := parameter{required: described["required"] == true, schema: schema, kind: s["type"]}
	p.in, _ = described["in"].(string)
	p.name, _ = described["name"].(string)
	return p
}

// Operation returns the operation of a request.
func (c *Contract) Operation(r *http.Request) (Operation, error) {
	for _, o := range c.Operations {
		if o.Method == r.Method && o.path.MatchString(r.URL.EscapedPath()) {
			return o, nil
		}
	}
	return Operation{}, fmt.Errorf("the document has no %s %s", r.Method, r.URL.Path)
}

// CheckRequest returns an error for what the document does not describe of a request.
func (c *Contract) CheckRequest(r *http.Request, body []byte) error {
	o, err := c.Operation(r)
	if err != nil {
		return err
	}
	query, path := r.URL.Query(), o.path.FindStringSubmatch(r.URL.EscapedPath())
	for _, p := range o.parameters {
		var values []string
		switch p.in {
		case "header":
			values = r.Header.Values(p.name)
		case "query":
			values = query[p.name]
			delete(query, p.name)
		case "path":
			value, err := url.PathUnescape(path[o.path.SubexpIndex(p.name)])
			if err != nil {
				return err
			}
			values = []string{value}
		}
		if err := c.checkParameter(p, values); err != nil {
			return fmt.Errorf("%s of %s: %w", p.name, o.ID, err)
		}
	}
	if len(query) > 0 {
		return fmt.Errorf("the document has no parameter %q of %s", slices.Sorted(maps.Keys(query)), o.ID)
	}
	pointer, described := c.follow(o.pointer + "/requestBody")
	if len(body) == 0 && described["required"] != true {
		return nil
	}
	return c.checkBody(pointer, r.Header, body)
}

// CheckResponse returns an error for what the document does not describe of an answer.
func (c *Contract) CheckResponse(r *http.Request, status int, header http.Header, body []byte) error {
	o, err := c.Operation(r)
	if err != nil {
		return err
	}
	pointer := o.pointer + "/responses/" + strconv.Itoa(status)
	if _, described := c.follow(pointer); described == nil {
		pointer = o.pointer + "/responses/default"
	}
	at, described := c.follow(pointer)
	headers, _ := described["headers"].(map[string]any)
	for name := range headers {
		if err := c.checkParameter(c.parameter(at+"/headers/"+escape(name)), header.Values(name)); err != nil {
			return fmt.Errorf("%s of %s: %w", name, o.ID, err)
		}
	}
	return c.checkBody(pointer, header, body)
}

func (c *Contract) checkParameter(p parameter, values []string) error {
	if len(values) == 0 {
		if p.required {
			return errors.New("required parameter is missing")
		}
		return nil
	}
	var value any = values[0]
	switch p.kind {
	case "integer", "boolean":
		value = json.RawMessage(values[0])
	case "array":
		value = values
	}
	if len(values) > 1 && p.kind != "array" {
		return fmt.Errorf("%d values of one parameter", len(values))
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.validate(p.schema, text)
}

// checkBody checks the body of a request or of a response that is described at pointer.
func (c *Contract) checkBody(pointer string, header http.Header, body []byte) error {
	pointer, described := c.follow(pointer)
	content, _ := described["content"].(map[string]any)
	if len(body) == 0 && content == nil {
		return nil
	}
	mediaType, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	if content[mediaType] == nil {
		return fmt.Errorf("the document has no %q at %s", mediaType, pointer)
	}
	if mediaType != "application/json" && mediaType != "application/problem+json" {
		return nil
	}
	schema, _ := c.follow(pointer + "/content/" + escape(mediaType) + "/schema")
	return c.validate(schema, body)
}

func (c *Contract) validate(schema string, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	compiled, err := c.compile(schema)
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

func (c *Contract) compile(schema string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compiler.Compile(resource + "#" + schema)
}

// follow resolves a JSON pointer and the $ref at it. It returns nil if there is nothing.
func (c *Contract) follow(pointer string) (string, map[string]any) {
	at := c.document
	for token := range strings.SplitSeq(pointer[1:], "/") {
		switch holder := at.(type) {
		case map[string]any:
			at = holder[unescape.Replace(token)]
		case []any:
			i, _ := strconv.Atoi(token)
			at = holder[i]
		}
	}
	found, _ := at.(map[string]any)
	if to, ok := found["$ref"].(string); ok {
		return c.follow(strings.TrimPrefix(to, "#"))
	}
	return pointer, found
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

func escape(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}
