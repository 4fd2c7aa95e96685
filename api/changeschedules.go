package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Bounds of a request of many changes.
const (
	maxLine = 64 << 10 // bytes of a line
	maxPart = 1 << 20  // bytes of the lines that are changed in one transaction
)

// lineAnswer is the result of one line.
type lineAnswer struct {
	Line     int                   `json:"line"`
	Key      string                `json:"key,omitempty"`
	Result   ledger.ScheduleEffect `json:"result,omitempty"`
	Revision int64                 `json:"revision,omitempty"`
	Error    *lineError            `json:"error,omitempty"`
}

type lineError struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// changeMany changes schedules line by line, in parts, and answers while it reads.
func (s *server) changeMany(w http.ResponseWriter, r *http.Request) {
	template, by := r.PathValue("id"), operations.Caller{Identity: access.FromContext(r.Context()), Via: ledger.ViaAPI}
	if err := operations.MayChangeSchedules(by.Identity, template); err != nil {
		s.fail(w, r, err)
		return
	}
	q := query(r, "by", "why")
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/x-ndjson" {
		q.err = problem(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"the body must be application/x-ndjson: one JSON object a line")
	}
	who, err := operations.ScheduleActor(by, q.text("by"), q.text("why"))
	if err = errors.Join(q.err, err); err != nil {
		s.fail(w, r, err)
		return
	}
	many := manyChanges{s: s, w: w, r: r, conn: http.NewResponseController(w), template: template, who: who,
		lines: &lines{reader: bufio.NewReaderSize(r.Body, maxLine)}}
	_ = many.conn.EnableFullDuplex() // HTTP/2 has it always
	many.run()
}

// manyChanges is a request that changes many schedules.
type manyChanges struct {
	s        *server
	w        http.ResponseWriter
	r        *http.Request
	conn     *http.ResponseController
	template string
	who      ledger.Actor
	lines    *lines
	begun    bool
}

func (m *manyChanges) run() {
	for {
		_ = m.conn.SetReadDeadline(time.Now().Add(readBody)) // for each part anew
		part, err := m.lines.part()
		if len(part) > 0 {
			if failed := m.change(part); failed != nil {
				m.end(failed)
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			m.end(nil)
			return
		case err != nil:
			m.end(err)
			return
		}
	}
}

// change changes the schedules of a part and answers its lines. A key that comes twice is
// changed twice, one after the other.
func (m *manyChanges) change(part []line) error {
	_ = m.conn.SetWriteDeadline(time.Now().Add(answerAction + readBody))
	for len(part) > 0 {
		var now []line
		now, part = distinct(part)
		changes := make([]operations.ScheduleChange, 0, len(now))
		for _, l := range now {
			if l.err == nil {
				changes = append(changes, l.change)
			}
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(m.r.Context()), answerAction)
		outcomes, err := m.s.ops.ChangeSchedules(ctx, m.template, changes, m.who)
		cancel()
		if err != nil {
			return err
		}
		m.answer(now, outcomes)
	}
	return m.conn.Flush()
}

// distinct returns the lines before the first whose key another has.
func distinct(part []line) (now, rest []line) {
	known := map[string]bool{}
	for i, l := range part {
		if l.err == nil && known[l.change.Key] {
			return part[:i], part[i:]
		}
		known[l.change.Key] = true
	}
	return part, nil
}

func (m *manyChanges) answer(part []line, outcomes []operations.ScheduleOutcome) {
	m.begin()
	for _, l := range part {
		a := lineAnswer{Line: l.number, Key: l.change.Key}
		err := l.err
		if err == nil {
			out := outcomes[0]
			outcomes, err = outcomes[1:], out.Err
			a.Result, a.Revision = out.Effect, out.Schedule.Revision
		}
		if err != nil {
			p := problemOf(err)
			a.Result, a.Error = "", &lineError{p.Code, p.Detail}
		}
		text, _ := operations.Encode(a) // texts and numbers
		m.w.Write(append(text, '\n'))
	}
}

func (m *manyChanges) begin() {
	if !m.begun {
		m.begun = true
		m.w.Header().Set("Content-Type", "application/x-ndjson")
		m.w.WriteHeader(http.StatusOK)
	}
}

// end tells what kept the request from its end. An answer that has begun gets a line of it and
// is cut off, so that no client takes it for the whole.
func (m *manyChanges) end(err error) {
	switch {
	case err == nil:
		m.begin()
	case !m.begun:
		m.s.fail(m.w, m.r, err)
	default:
		p := problemOf(err)
		text, _ := operations.Encode(lineAnswer{Line: m.lines.number, Error: &lineError{p.Code, p.Detail}})
		m.w.Write(append(text, '\n'))
		_ = m.conn.Flush()
		m.s.log.Error("API request failed", "method", m.r.Method, "path", m.r.URL.Path, "error", err)
		panic(http.ErrAbortHandler)
	}
}

// line is one change of many; err says what is wrong with it.
type line struct {
	number int
	change operations.ScheduleChange
	err    error
}

var lineFields = slices.Concat([]string{"key", "delete"}, changeFields[2:])

func parseLine(number int, text []byte) (l line) {
	l.number = number
	given, ok := names(text)
	if !ok {
		l.err = invalid("the line must be a JSON object")
		return l
	}
	l.err = checkNames(given, lineFields)
	if err := unmarshal("line", text, &l.change); l.err == nil {
		l.err = err
	}
	if l.err == nil && badText(l.change.Key) {
		l.change.Key, l.err = "", invalid("the key must be UTF-8 without control, directional or invisible characters")
	}
	return l
}
