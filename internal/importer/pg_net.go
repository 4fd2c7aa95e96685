package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pgNetArguments lists the parameters of each function of pg_net, in order.
var pgNetArguments = map[string][]string{
	"net.http_post":   {"url", "body", "params", "headers", "timeout_milliseconds"},
	"net.http_get":    {"url", "params", "headers", "timeout_milliseconds"},
	"net.http_delete": {"url", "params", "headers", "timeout_milliseconds", "body"},
}

var errNotPgNet = errors.New("the command is not one select of net.http_post, net.http_get or net.http_delete; work of the " +
	"database stays in pg_cron, or gets an HTTP endpoint")

// pgNet reads select net.http_post(...), with or without a name for its result.
func (e *entry) pgNet(command string) error {
	tokens := sqlTokens(command)
	if sqlNested(tokens) {
		return errNotPgNet
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].is(";") {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) > 3 && tokens[0].named("select") && tokens[1].is("*") && tokens[2].named("from") {
		tokens = tokens[2:]
	}
	if len(tokens) < 4 || !tokens[0].named("select") && !tokens[0].named("from") {
		return errNotPgNet
	}
	args, rest, ok := sqlInner(tokens[4:])
	// After the call only an alias may follow: a condition could keep it from being made.
	name := tokens[1].text + tokens[2].text + tokens[3].text
	names, known := pgNetArguments[name]
	if len(rest) > 0 && rest[0].named("as") {
		rest = rest[1:]
	}
	if !ok || !known || len(rest) > 1 || len(rest) == 1 && (rest[0].kind != sqlName || rest[0].named("from") || rest[0].named("where")) {
		return errNotPgNet
	}
	return e.pgNetCall(strings.ToUpper(strings.TrimPrefix(name, "net.http_")), sqlArguments(args, names))
}

// pgNetCall takes over the arguments of a function of pg_net.
func (e *entry) pgNetCall(method string, args sqlArgs) (err error) {
	e.call.method, e.call.jsonType = method, true
	if e.call.url, err = sqlWord(args["url"]); err != nil {
		return err
	}
	if err := e.pgNetQuery(args["params"]); err != nil {
		return err
	}
	if method == "POST" || args["body"] != nil {
		body := any(map[string]any{}) // pg_net's default
		if args["body"] != nil {
			if body, err = sqlJSON(args["body"]); err != nil {
				return fmt.Errorf("the body: %w", err)
			}
		}
		if err := e.pgNetBody(body); err != nil {
			return err
		}
	}
	if args["headers"] != nil {
		headers, err := sqlJSON(args["headers"])
		fields, isObject := headers.(map[string]any)
		if err != nil || !isObject {
			return errors.New("the headers are not a JSON object that the importer can read; a header's value is a text, a secret of " +
				"vault.decrypted_secrets, or both joined by ||")
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			switch value := fields[name].(type) {
			case word:
				e.header(name, value)
			case string:
				e.header(name, literal(value))
			default:
				return errors.New("a header's value is not a text; put it in quotes")
			}
		}
	}
	return e.pgNetTimeout(args["timeout_milliseconds"])
}

func (e *entry) pgNetBody(body any) error {
	text, err := json.Marshal(body)
	if err != nil || holdsWord(body) {
		return errors.New("the body has a value that the database looks up; cronce sends a fixed body")
	}
	e.call.data, e.call.hasData = []word{literal(string(text))}, true
	return nil
}

// holdsWord reports whether a JSON value has a variable in it.
func holdsWord(value any) bool {
	switch v := value.(type) {
	case word:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), holdsWord)
	case []any:
		return slices.ContainsFunc(v, holdsWord)
	}
	return false
}

// pgNetQuery adds the parameters to the URL, as pg_net does.
func (e *entry) pgNetQuery(params []sqlToken) error {
	if params == nil {
		return nil
	}
	value, err := sqlJSON(params)
	fields, isObject := value.(map[string]any)
	if err != nil || !isObject || holdsWord(value) {
		return errors.New("the params are not a JSON object of constants; cronce sends a fixed query")
	}
	query := url.Values{}
	for name, value := range fields {
		query.Set(name, fmt.Sprint(value))
	}
	start, _ := e.call.url.expand(nil)
	e.call.url = joined(append(e.call.url, part{text: strings.TrimPrefix(withQuery(start, query.Encode()), start)}))
	return nil
}

func (e *entry) pgNetTimeout(value []sqlToken) error {
	e.limit(5 * time.Second) // pg_net's default
	if value == nil {
		e.note(Timeout, "the job has pg_net's default of 5s")
		return nil
	}
	w, err := sqlWord(value)
	text, ok := w.literal(nil)
	ms, bad := strconv.Atoi(text)
	if err != nil || !ok || bad != nil || ms < 1 {
		return errors.New("timeout_milliseconds is not a number of milliseconds; write one, such as 5000")
	}
	e.call.timeout = time.Duration(ms) * time.Millisecond
	return nil
}
