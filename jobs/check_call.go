package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// methods that a call can have; the first is the default.
var methods = []string{"POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"}

// checkBody returns the body as JSON, or nil for the default body.
func (d *draft) checkBody(path string, j Job, names placeholderSet) any {
	if j.Body == nil {
		return nil
	}
	body, err := encodeJSON(j.Body)
	switch {
	case err != nil:
		d.add(path, codeBadBody, "the body cannot be written as JSON: %v", err)
		return nil
	case bodyless(j.Method):
		d.add(path, codeBadBody, "a %s call has no body; remove it, or use method: POST", j.Method)
		return nil
	case len(body) > maxBody:
		d.add(path, codeBadBody, "the body has %d bytes as JSON, the maximum is %d; let the target look up the data", len(body), maxBody)
		return nil
	}
	switch most, ok := d.checkPlaceholders(path, string(body), names); {
	case !ok:
		return nil
	case most > maxBody:
		d.add(path, codeBadBody, "the body can have %d bytes with the values of its placeholders, the maximum is %d", most, maxBody)
		return nil
	}
	return json.RawMessage(body)
}

// encodeJSON is compact JSON without HTML's escapes.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func bodyless(method string) bool {
	return method == "GET" || method == "HEAD"
}

func (d *draft) checkCall(path string, j Job, template bool) {
	whole := j.Path
	if template {
		if !d.checkTemplatePath(path+".path", j.Path) {
			return
		}
		whole = samplePath(j.Path)
	}
	if why := badPath(whole); why != "" {
		code := codeBadPath
		if j.Path == "" {
			code = codeMissingPath
		}
		d.add(path+".path", code, "%s", why)
	} else if !validKeyScope(j.KeyScope) {
		d.add(path+".keyScope", codeBadScope, "invalid key scope %s; a key scope is visible ASCII, at most %d characters, without *; set keyScope", quoted(j.KeyScope), maxKeyScope)
	}
	for i, s := range j.Scopes {
		at := fmt.Sprintf("%s.scopes[%d]", path, i)
		if !validScope(s) {
			d.add(at, codeBadScope, "invalid scope %s; a scope is visible ASCII without quotes and backslashes (RFC 6749, section 3.3), one scope per entry", quoted(s))
		} else if slices.Contains(j.Scopes[:i], s) {
			d.add(at, codeDuplicateScope, "duplicate scope %q; remove one", s)
		}
	}
}

// badPath says what is wrong with a path, or "". It is sent as written, so
// what a server or proxy would rewrite is refused.
func badPath(path string) string {
	u, err := url.ParseRequestURI(path)
	switch {
	case path == "":
		return "the job has no path; add `path: /v1/admin/...`, joined to the target's base URL"
	case path[0] != '/':
		return fmt.Sprintf("the path %s must begin with /; the host belongs into the target", quoted(path))
	case len(path) > maxPath:
		return fmt.Sprintf("the path has %d bytes, at most %d are allowed", len(path), maxPath)
	case !visibleASCII(path) || strings.ContainsAny(path, `\"<>^{|}`+"`"):
		return fmt.Sprintf("the path %s has characters that a URL cannot have; percent-encode them", quoted(path))
	case strings.Contains(path, "#"):
		return fmt.Sprintf("the path %s must have no fragment (#...): it would not be sent", quoted(path))
	case err != nil:
		return fmt.Sprintf("the path %s has a %% that two hexadecimal digits do not follow; write %%25 for a percent sign", quoted(path))
	case strings.Contains(u.Path, "//") || slices.ContainsFunc(strings.Split(u.Path, "/"), dots):
		return fmt.Sprintf("the path %s must have no //, /./ or /../: servers rewrite them", quoted(path))
	}
	return ""
}

func dots(segment string) bool { return segment == "." || segment == ".." }

func validScope(s string) bool {
	return s != "" && len(s) <= maxKeyScope && visibleASCII(s) && !strings.ContainsAny(s, `"\`)
}
