package main

import (
	"encoding/json"
	"strings"
)

// maxEnvelopes is the number of envelopes in which an event may be wrapped: an envelope that is sent to
// the function again, and fails again, comes back within another.
const maxEnvelopes = 4

// unwrapped reads the event within the envelopes in which the platform puts an
// event aside. Nothing else of an envelope is looked at: it differs from one
// delivery to the next.
func unwrapped(payload []byte) (s shape, err error) {
	for range maxEnvelopes + 1 {
		if s, err = parseShape(payload); err != nil {
			return nil, err
		}
		if payload = s.wrapped(); payload == nil {
			break
		}
	}
	return s, nil
}

// wrapped returns the event within one envelope; nil when s is none:
// requestPayload in the record of a Lambda destination, and Payload in the
// request that EventBridge Scheduler gave up, there perhaps as a text.
func (s shape) wrapped() []byte {
	var inner json.RawMessage
	switch {
	case s.has("requestContext") && s.has("requestPayload"):
		inner = s["requestPayload"]
	case s.has("FunctionName") && s.has("Payload"):
		inner = s["Payload"]
	default:
		return nil
	}
	var text string
	if json.Unmarshal(inner, &text) == nil {
		return []byte(text)
	}
	return inner
}

// scheduledTime is the attribute by which Scheduler's dead letters say for when
// the schedule was due.
const scheduledTime = "SCHEDULED_TIME"

// fillIn puts a dead letter's scheduled time in the place of a placeholder that
// Scheduler left in the input.
func (s shape) fillIn(attributes map[string]attribute) {
	at := attributes[scheduledTime].Value
	if at == "" || !strings.HasPrefix(s.text("scheduledAt"), "<aws.scheduler.") {
		return
	}
	if quoted, err := json.Marshal(at); err == nil {
		s["scheduledAt"] = quoted
	}
}
