package targets

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/ledger"
)

// excerptOf returns what a failing answer says: title and detail of a problem document
// (RFC 9457), else the beginning of its body. A body that is encoded says nothing.
func excerptOf(h http.Header, body []byte) string {
	if coding := h.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return ""
	}
	text := string(body)
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if media == "application/json" || strings.HasSuffix(media, "+json") {
		var p struct{ Title, Detail string }
		_ = json.Unmarshal(body, &p) // what has another type stays empty
		switch {
		case p.Title != "" && p.Detail != "":
			text = p.Title + ": " + p.Detail
		case p.Title+p.Detail != "":
			text = p.Title + p.Detail
		}
	}
	return strings.TrimSpace(text)
}

// keepExcerpt returns an excerpt as the ledger keeps it and a terminal may show it, or
// "redacted" if it contains a secret that this process sends, or its code does. It looks for
// that beyond the cut, which could leave a part of a secret.
func (t *Targets) keepExcerpt(code, text string, carried []string) string {
	text = t.redact(text[:min(len(text), 2*ledger.ExcerptLimit)], carried)
	if text == redacted || text != "" && code == redacted {
		return redacted
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return ledger.StorableExcerpt(plaintext.Lines(text))
}
