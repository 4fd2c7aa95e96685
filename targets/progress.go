package targets

import (
	"encoding/json"
	"mime"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/ledger"
)

// progressOf reads what the body of a 202 says of the work's progress: the member
// "progress" of a JSON object, a text as it is and any other value as JSON, or the
// first line of plain text. JSON is known by its form too, since servers call a body
// without a type text/plain, or nothing. Any other body gives "".
func progressOf(contentType string, body []byte) string {
	media, _, _ := mime.ParseMediaType(contentType)
	if media != "" && media != "text/plain" && media != "application/json" && !strings.HasSuffix(media, "+json") {
		return ""
	}
	var said struct {
		Progress json.RawMessage `json:"progress"`
	}
	if json.Unmarshal(body, &said) != nil {
		if media == "" || media == "text/plain" {
			return oneLine(string(body))
		}
		return ""
	}
	return oneLine(ledger.ProgressText(said.Progress))
}

// oneLine returns the first line of a text as the ledger keeps it and a terminal may
// show it.
func oneLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return ledger.StorableProgress(plaintext.Line(strings.TrimSpace(line)))
}

// redact returns a target's text, or "redacted" if it contains a secret that this process
// sends, or what the call carried.
func (t *Targets) redact(text string, carried []string) string {
	if t.reveals(text, carried) {
		return redacted
	}
	return text
}
