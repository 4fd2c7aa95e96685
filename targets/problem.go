package targets

import (
	"encoding/json"
	"mime"
	"strings"
)

// maxCode is the longest problem code that is kept.
const maxCode = 64

// problemCode reads the code out of a problem document (RFC 9457): its "code"
// member, else the last part of its "type" URI with hyphens as underscores.
// Anything that is not such a document, or not such a code, gives "".
//
// Plain application/json is read too: gateways rewrite the media type.
func problemCode(contentType string, body []byte) string {
	if !isProblem(contentType) {
		return ""
	}
	var p struct {
		Code any `json:"code"`
		Type any `json:"type"`
	}
	if json.Unmarshal(body, &p) != nil {
		return ""
	}
	if code, _ := p.Code.(string); wellFormed(code) {
		return code
	}
	uri, _ := p.Type.(string)
	if uri == "about:blank" { // no more than the status says
		return ""
	}
	code := strings.ReplaceAll(uri[strings.LastIndexAny(uri, "/#:")+1:], "-", "_")
	if wellFormed(code) {
		return code
	}
	return ""
}

// wellFormed reports whether a code may stand in the ledger, in logs and on
// terminals: a lower-case word of letters, digits, dots and underscores.
func wellFormed(code string) bool {
	if code == "" || len(code) > maxCode || code[0] < 'a' || code[0] > 'z' {
		return false
	}
	for i := range len(code) {
		switch c := code[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// isProblem reports whether a body of this type can have a problem code.
func isProblem(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/problem+json" || media == "application/json")
}
