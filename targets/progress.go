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

// oneLine is the first line of a text as the ledger keeps it and a terminal may
// show it.
func oneLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return ledger.StorableProgress(plaintext.Line(strings.TrimSpace(line)))
}

// RedactProgress returns a target's text about a run's progress, or "redacted" if the text
// contains a secret that this process sends.
func (t *Targets) RedactProgress(runID, progress string) string { return t.redact(runID, progress) }

// redact returns a text of a run's target, or "redacted" if the text contains a secret that
// this process sends.
func (t *Targets) redact(runID, text string) string {
	if text == "" {
		return ""
	}
	var own []string
	if t.complete != nil {
		_, token := t.complete(runID)
		own = append(own, token)
	}
	if t.reveals(text, own...) {
		return redacted
	}
	return text
}
