package targets

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/cronce/cronce/executor"
)

// routingKey is the credential of PagerDuty's Events API v2, which takes it as a field
// of the body. So it is not in the run's frozen body, and the ledger does not hold it.
type routingKey struct{ sources }

func (s routingKey) sign(_ context.Context, req *http.Request, c executor.Call) ([]string, error) {
	used, err := s.get()
	if err != nil {
		return nil, err
	}
	var event map[string]json.RawMessage
	if err := json.Unmarshal(c.Call.Body, &event); err != nil {
		return nil, &unsignedError{why: "the event is not a JSON object", denied: true}
	}
	event["routing_key"], _ = json.Marshal(used[0]) // a string
	body, err := json.Marshal(event)
	if err != nil {
		return nil, &unsignedError{why: "the event cannot be written as JSON", denied: true}
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return used, nil
}
