package jobs

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/jobs/internal/field"
)

// methods that a call can have; the first is the default.
var methods = []string{"POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"}

// checkBody returns the body as JSON, or nil for the default body.
func (d *draft) checkBody(path string, j Job, names placeholderSet) any {
	if j.Body == nil {
		return nil
	}
	body, err := field.JSONText(j.Body)
	switch {
	case err != nil:
		d.Add(path, field.BadBody, "the body cannot be written as JSON: %v", err)
		return nil
	case bodyless(j.Method):
		d.Add(path, field.BadBody, "a %s call has no body; remove it, or use method: POST", j.Method)
		return nil
	case len(body) > maxBody:
		d.Add(path, field.BadBody, "the body has %d bytes as JSON, the maximum is %d; let the target look up the data", len(body), maxBody)
		return nil
	}
	switch most, ok := d.checkPlaceholders(path, string(body), names); {
	case !ok:
		return nil
	case most > maxBody:
		d.Add(path, field.BadBody, "the body can have %d bytes with the values of its placeholders, the maximum is %d", most, maxBody)
		return nil
	}
	return json.RawMessage(body)
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
		d.Add(path+".path", code, "%s", why)
	} else if !validKeyScope(j.KeyScope) {
		d.Add(path+".keyScope", codeBadScope,
			"invalid key scope %s; a key scope is visible ASCII, at most %d characters, without *; set keyScope", field.Quoted(j.KeyScope),
			maxKeyScope)
	}
	for i, s := range j.Scopes {
		at := fmt.Sprintf("%s.scopes[%d]", path, i)
		if !validScope(s) {
			d.Add(at, codeBadScope,
				"invalid scope %s; a scope is visible ASCII without quotes and backslashes (RFC 6749, section 3.3), one scope per entry",
				field.Quoted(s))
		} else if slices.Contains(j.Scopes[:i], s) {
			d.Add(at, codeDuplicateScope, "duplicate scope %q; remove one", s)
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
		return fmt.Sprintf("the path %s must begin with /; the host belongs into the target", field.Quoted(path))
	case len(path) > maxPath:
		return fmt.Sprintf("the path has %d bytes, at most %d are allowed", len(path), maxPath)
	case !plaintext.VisibleASCII(path) || strings.ContainsAny(path, `\"<>^{|}`+"`"):
		return fmt.Sprintf("the path %s has characters that a URL cannot have; percent-encode them", field.Quoted(path))
	case strings.Contains(path, "#"):
		return fmt.Sprintf("the path %s must have no fragment (#...): it would not be sent", field.Quoted(path))
	case err != nil:
		return fmt.Sprintf("the path %s has a %% that two hexadecimal digits do not follow; write %%25 for a percent sign", field.Quoted(path))
	case strings.Contains(u.Path, "//") || slices.ContainsFunc(strings.Split(u.Path, "/"), dots):
		return fmt.Sprintf("the path %s must have no //, /./ or /../: servers rewrite them", field.Quoted(path))
	}
	return ""
}

func dots(segment string) bool { return segment == "." || segment == ".." }

func validScope(s string) bool {
	return s != "" && len(s) <= maxKeyScope && plaintext.VisibleASCII(s) && !strings.ContainsAny(s, `"\`)
}
