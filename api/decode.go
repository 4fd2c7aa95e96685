package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/operations"
)

// decode reads what a request asks of an action; only some fields are allowed.
func decode(w http.ResponseWriter, r *http.Request, fields []string) (a operations.ActionRequest, err error) {
	if err := decodeInto(w, r, fields, &a); err != nil {
		return a, err
	}
	a.ID = r.PathValue("id")
	if badText(a.ID) {
		return a, invalid("the path must be UTF-8 without control, directional or invisible characters")
	}
	return a, nil
}

// decodeInto reads a body that is a JSON object of only some fields.
func decodeInto(w http.ResponseWriter, r *http.Request, fields []string, into any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return problem(http.StatusUnsupportedMediaType, "unsupported_media_type", "the body must be application/json")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readBody)) // a writer without one is a test's
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return unread(err)
	}
	given, ok := names(text)
	if !ok {
		return invalid("the body must be a JSON object")
	}
	if err := checkNames(given, fields); err != nil {
		return err
	}
	return unmarshal("body", text, into)
}

// checkNames refuses a field that is not valid, or is given twice.
func checkNames(given, valid []string) error {
	for i, name := range given {
		switch {
		case !slices.Contains(valid, name):
			return invalid(fmt.Sprintf("unknown field %q; valid fields: %s", name, strings.Join(valid, ", ")))
		case slices.Contains(given[:i], name):
			return invalid(fmt.Sprintf("the field %q is given more than once", name))
		}
	}
	return nil
}

// unmarshal names the field that has the wrong type.
func unmarshal(what string, text []byte, into any) error {
	err := json.Unmarshal(text, into)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return invalid(fmt.Sprintf("invalid %s for the field %q; see /v1/openapi.yaml", wrong.Value,
			wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]))
	}
	if err != nil {
		return invalid("the " + what + " is invalid: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// unread translates an error of reading a body.
func unread(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return problem(http.StatusRequestTimeout, "body_incomplete", "the body did not arrive in 10 seconds")
	}
	return invalid("the body is cut off or wrongly encoded; send as many bytes as Content-Length says, or valid chunks")
}

// names are those of a JSON object's members, in order: one that comes twice could
// mean one thing to a proxy that checks requests and another here.
func names(text []byte) (all []string, ok bool) {
	if !json.Valid(text) || !utf8.Valid(text) || !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	_, err := d.Token() // the brace
	for err == nil && d.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = d.Token(); err == nil {
			all = append(all, fmt.Sprint(name))
			err = d.Decode(&value)
		}
	}
	return all, err == nil
}
