package api

import (
	"bytes"
	"cmp"
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

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/ledger"
)

// decode reads the body, of which only the mutation's fields are allowed, and who
// acts.
func decode(w http.ResponseWriter, r *http.Request, fields []string) (*actRequest, []byte, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, nil, problem(http.StatusUnsupportedMediaType, "unsupported_media_type", "the body must be application/json")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readBody)) // a writer without one is a test's
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, nil, unread(err)
	}
	given, ok := names(text)
	if !ok {
		return nil, nil, invalid("the body must be a JSON object")
	}
	for i, name := range given {
		switch {
		case !slices.Contains(fields, name):
			return nil, nil, invalid(fmt.Sprintf("unknown field %q; valid fields: %s", name, strings.Join(fields, ", ")))
		case slices.Contains(given[:i], name):
			return nil, nil, invalid(fmt.Sprintf("the field %q is given more than once", name))
		}
	}
	a := &actRequest{id: r.PathValue("id")}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, nil, invalid("the body is invalid: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	if badText(a.id) {
		return nil, nil, invalid("the path must be UTF-8 without control, directional or invisible characters")
	}
	who := access.FromContext(r.Context())
	if err := permitsFields(who, a); err != nil {
		return nil, nil, err
	}
	a.actor = ledger.Actor{By: cmp.Or(who.Name, a.By), Proven: who.Name != "", Why: a.Why, Via: cmp.Or(ledger.Via(access.Via(r.Context())), ledger.ViaAPI)}
	if a.actor.By == "" {
		return nil, nil, invalid("nobody's identity is proven on this address, so the body must say who acts (by)")
	}
	return a, text, nil
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

// permitsFields refuses what only administrators may ask, and a name that is not
// the proven one.
func permitsFields(who access.Identity, a *actRequest) error {
	if (a.Force || a.MayDouble || a.NewKey) && who.Role < access.Admin {
		return forbidden("force, mayDouble and newKey are for administrators")
	}
	if who.Name != "" && a.By != "" && a.By != who.Name {
		return forbidden(fmt.Sprintf("this request is made by %q; leave out by, or name it", who.Name))
	}
	return nil
}
