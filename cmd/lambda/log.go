package main

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
)

// invocation is the AWS request ID of the event in hand. An environment answers
// one event at a time, so it also names the lines that are logged without the
// event's context. It stays until the next event: what is logged after an answer
// belongs to that answer.
type invocation struct{ id atomic.Pointer[string] }

// set notes the event that is answered next.
func (i *invocation) set(id string) { i.id.Store(&id) }

// requestID returns the request ID of the event in hand; "" before the first.
func (i *invocation) requestID() string {
	if id := i.id.Load(); id != nil {
		return *id
	}
	return ""
}

// requestLog adds the request ID to each line.
type requestLog struct {
	slog.Handler
	current *invocation
}

// Handle adds the request ID of the event in hand to a line.
func (l requestLog) Handle(ctx context.Context, r slog.Record) error {
	if id := l.current.requestID(); id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("requestId", id))
	}
	return l.Handler.Handle(ctx, r)
}

func (l requestLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestLog{l.Handler.WithAttrs(attrs), l.current}
}

func (l requestLog) WithGroup(name string) slog.Handler {
	return requestLog{l.Handler.WithGroup(name), l.current}
}

// runtimePackage is the package whose lines are logged as they are.
const runtimePackage = "github.com/aws/aws-lambda-go"

// libraryLog takes what libraries print through package log, which must have the
// flag Llongfile. The runtime's lines are logged: its fatal errors are the only
// trace of why a process ended. Of other libraries the place alone is logged:
// net/http prints what a target sends out of turn, and those bytes could hold a
// secret that was sent to it.
type libraryLog struct{ log *slog.Logger }

// Write logs a line of a library, or only that there was one.
func (l libraryLog) Write(line []byte) (int, error) {
	place, text, _ := strings.Cut(strings.TrimSpace(string(line)), ": ")
	switch {
	case !strings.Contains(place, runtimePackage):
		l.log.Warn("message of a library withheld", "source", place)
	case !strings.Contains(text, `"errorType":"cronce.`): // those are logged where they arise
		l.log.Error("lambda runtime", "source", place, "text", text)
	}
	return len(line), nil
}
