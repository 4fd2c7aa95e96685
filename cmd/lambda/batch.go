package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
)

// maxAtOnce is the maximum number of calls that one invocation makes at a time.
const maxAtOnce = 16

// message is one record of an SQS batch.
type message struct {
	ID     string `json:"messageId"`
	Body   string `json:"body"`
	Source string `json:"eventSource"`
	Queue  string `json:"eventSourceARN"`

	Attributes map[string]attribute `json:"messageAttributes"`
}

// attribute is one of a message's.
type attribute struct {
	Value string `json:"stringValue"`
}

// batchAnswer names the messages that the queue is to deliver again
// (ReportBatchItemFailures); all others are done.
type batchAnswer struct {
	Failures []failure `json:"batchItemFailures"`
}

// failure names a message that failed.
type failure struct {
	ID string `json:"itemIdentifier"`
}

// batch answers an SQS batch: each message is an event of its own, and its
// failure is its own.
func (h *handler) batch(ctx context.Context, s shape) (any, error) {
	var messages []message
	if err := json.Unmarshal(s["Records"], &messages); err != nil || messages == nil {
		return nil, fmt.Errorf("%w: Records is not a list of messages; %s", errBadEvent, knownEvents)
	}
	for _, m := range messages {
		if m.Source != "aws:sqs" || m.ID == "" {
			return nil, fmt.Errorf("%w: got Records of %.40q; of those, cronce takes SQS batches only", errBadEvent, m.Source)
		}
	}
	failed := make([]bool, len(messages))
	if len(messages) > 0 && strings.HasSuffix(messages[0].Queue, ".fifo") {
		h.inOrder(ctx, messages, failed)
	} else {
		h.sideBySide(ctx, messages, failed)
	}
	out := batchAnswer{Failures: []failure{}} // null would fail the whole batch
	for i, m := range messages {
		if failed[i] {
			out.Failures = append(out.Failures, failure{m.ID})
		}
	}
	return out, nil
}

// sideBySide answers the messages of a queue without an order, maxAtOnce at a time.
func (h *handler) sideBySide(ctx context.Context, messages []message, failed []bool) {
	var group errgroup.Group
	group.SetLimit(maxAtOnce)
	for i, m := range messages {
		group.Go(func() error {
			failed[i] = h.message(ctx, m) != nil
			return nil
		})
	}
	_ = group.Wait() // each message's failure is its own
}

// inOrder stops at the first failure: what follows in a FIFO queue must not
// overtake it.
func (h *handler) inOrder(ctx context.Context, messages []message, failed []bool) {
	stopped := false
	for i, m := range messages {
		stopped = stopped || h.message(ctx, m) != nil
		failed[i] = stopped
	}
}

// message answers one message: the event that its body is or, of a dead letter,
// holds; or a tick. The message's id is the queue's, not the event's: who sends an event twice
// makes two messages, and they must ask for one run.
func (h *handler) message(ctx context.Context, m message) error {
	s, err := unwrapped([]byte(m.Body))
	if err == nil {
		s.fillIn(m.Attributes)
		_, err = h.one(ctx, s)
	}
	if err != nil {
		h.log.Error("message failed; the queue will deliver it again", "message", m.ID, "error", err, "errorType", errorType(err))
	}
	return err
}
