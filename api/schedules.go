package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// schedulePage is a page of the schedules of a template.
type schedulePage struct {
	Schedules []operations.Schedule `json:"schedules"`
	Next      string                `json:"next,omitempty"`
}

// templateList are all templates.
type templateList struct {
	Templates []operations.Template `json:"templates"`
}

// schedulePath is that of one schedule.
const schedulePath = "/v1/jobs/{id}/schedules/{key}"

// schedules serves what the role scheduler may do.
func (s *server) schedules() {
	s.get("/v1/templates", false, func(ctx context.Context, _ *http.Request, _ *params) (any, error) {
		list, err := s.ops.Templates(ctx)
		return templateList{list}, err
	})
	s.handle("GET "+schedulePath, s.getSchedule)
	s.handle("GET /v1/jobs/{id}/schedules", s.listSchedules)
	s.handle("PUT "+schedulePath, s.putSchedule)
	s.handle("DELETE "+schedulePath, s.deleteSchedule)
	s.handle("POST /v1/jobs/{id}/schedules", s.changeMany)
}

func (s *server) getSchedule(w http.ResponseWriter, r *http.Request) {
	v, err := s.oneSchedule(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("ETag", revisionTag(v.Revision))
	if r.Header.Get("If-None-Match") == revisionTag(v.Revision) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.write(w, r, v, false)
}

func (s *server) oneSchedule(r *http.Request) (v operations.Schedule, err error) {
	template, who := r.PathValue("id"), access.FromContext(r.Context())
	if err := operations.MayReadSchedules(who, template); err != nil {
		return v, err
	}
	if q := query(r); q.err != nil {
		return v, q.err
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerRead)
	defer cancel()
	if v, err = s.ops.Schedule(ctx, template, r.PathValue("key")); err != nil {
		return v, err
	}
	return hideData(v, who), nil
}

// hideData leaves the data out for those who may not see what runs send.
func hideData(v operations.Schedule, who access.Identity) operations.Schedule {
	if !who.MayChange(v.Template) {
		v.Data = nil
	}
	return v
}

func (s *server) listSchedules(w http.ResponseWriter, r *http.Request) {
	page, err := s.pageOfSchedules(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.write(w, r, page, false)
}

func (s *server) pageOfSchedules(r *http.Request) (page schedulePage, err error) {
	template, who := r.PathValue("id"), access.FromContext(r.Context())
	if err := operations.MayReadSchedules(who, template); err != nil {
		return page, err
	}
	q := query(r, "prefix", "limit", "cursor")
	f := ledger.ScheduleFilter{Template: template, KeyPrefix: q.text("prefix"), Limit: q.count("limit", operations.DefaultPage, operations.MaxPage)}
	if p := q.cursor("schedules"); p != nil {
		f.AfterKey = p.ID
	}
	if q.err != nil {
		return page, q.err
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerRead)
	defer cancel()
	list, more, err := s.ops.Schedules(ctx, f)
	if err != nil {
		return page, err
	}
	for i := range list {
		list[i] = hideData(list[i], who)
	}
	page.Schedules = list
	if more {
		page.Next = position{List: "schedules", ID: list[len(list)-1].Key}.String()
	}
	return page, nil
}

// scheduleAnswer is a schedule with what a request did.
type scheduleAnswer struct {
	Result ledger.ScheduleEffect `json:"result"`
	operations.Schedule
}

// changeBody are the fields of a change, and who asks.
type changeBody struct {
	operations.ScheduleChange
	By  string `json:"by,omitempty"`
	Why string `json:"why,omitempty"`
}

var changeFields = []string{"by", "why", "schedule", "timezone", "dst", "data", "until", "generation"}

func (s *server) putSchedule(w http.ResponseWriter, r *http.Request) {
	out, err := s.put(w, r)
	s.answerChange(w, r, out, err)
}

func (s *server) put(w http.ResponseWriter, r *http.Request) (out operations.ScheduleOutcome, err error) {
	if err := operations.MayChangeSchedules(access.FromContext(r.Context()), r.PathValue("id")); err != nil {
		return out, err
	}
	if err := checkQuery(r, changeFields); err != nil {
		return out, err
	}
	var body changeBody
	if err := decodeInto(w, r, changeFields, &body); err != nil {
		return out, err
	}
	if out.Err = setCondition(r, &body.ScheduleChange); out.Err != nil {
		return out, out.Err
	}
	return s.changeOne(r, body)
}

func (s *server) deleteSchedule(w http.ResponseWriter, r *http.Request) {
	out, err := s.remove(r)
	s.answerChange(w, r, out, err)
}

func (s *server) remove(r *http.Request) (out operations.ScheduleOutcome, err error) {
	if err := operations.MayChangeSchedules(access.FromContext(r.Context()), r.PathValue("id")); err != nil {
		return out, err
	}
	q := query(r, "generation", "by", "why")
	body := changeBody{By: q.text("by"), Why: q.text("why")}
	body.Delete = true
	if text := q.text("generation"); text != "" {
		if body.Generation, err = strconv.ParseInt(text, 10, 64); err != nil || body.Generation < 1 {
			q.fail("invalid generation %q; it must be a number of at least 1", text)
		}
	}
	if q.err != nil {
		return out, q.err
	}
	if err := setCondition(r, &body.ScheduleChange); err != nil {
		return out, err
	}
	return s.changeOne(r, body)
}

// changeOne makes the change of the schedule in the path.
func (s *server) changeOne(r *http.Request, body changeBody) (out operations.ScheduleOutcome, err error) {
	who, err := operations.ScheduleActor(operations.Caller{Identity: access.FromContext(r.Context()), Via: ledger.ViaAPI}, body.By, body.Why)
	if err != nil {
		return out, err
	}
	body.Key = r.PathValue("key")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), answerAct)
	defer cancel()
	list, err := s.ops.ChangeSchedules(ctx, r.PathValue("id"), []operations.ScheduleChange{body.ScheduleChange}, who)
	if err != nil {
		return out, err
	}
	return list[0], list[0].Err
}

func (s *server) answerChange(w http.ResponseWriter, r *http.Request, out operations.ScheduleOutcome, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	text, err := operations.Encode(scheduleAnswer{out.Effect, out.Schedule})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("ETag", revisionTag(out.Schedule.Revision))
	w.Header().Set("Content-Type", "application/json")
	if out.Effect == ledger.ScheduleCreated {
		w.WriteHeader(http.StatusCreated)
	}
	w.Write(text)
}

func revisionTag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// setCondition reads If-Match and If-None-Match. Only one revision can be named, since a
// schedule has one.
func setCondition(r *http.Request, c *operations.ScheduleChange) error {
	match, none := r.Header.Values("If-Match"), r.Header.Values("If-None-Match")
	switch {
	case len(match) == 0 && len(none) == 0:
		return nil
	case len(match) == 0 && len(none) == 1 && none[0] == "*":
		c.IfRevision = ledger.MustNotExist
		return nil
	case len(match) == 1 && len(none) == 0:
		text, found := strings.CutPrefix(match[0], `"`)
		text, closed := strings.CutSuffix(text, `"`)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && found && closed && n > 0 {
			c.IfRevision = n
			return nil
		}
	}
	return invalid(`a change takes If-Match with the one ETag that an answer gave, such as "3", or If-None-Match: *`)
}

// Bounds of a request of many changes.
const (
	maxLine = 64 << 10 // bytes of a line
	maxPart = 1 << 20  // bytes of the lines that are changed in one transaction
)

// lineAnswer is what became of a line.
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
		q.err = problem(http.StatusUnsupportedMediaType, "unsupported_media_type", "the body must be application/x-ndjson: one JSON object a line")
	}
	who, err := operations.ScheduleActor(by, q.text("by"), q.text("why"))
	if err = errors.Join(q.err, err); err != nil {
		s.fail(w, r, err)
		return
	}
	many := manyChanges{s: s, w: w, r: r, conn: http.NewResponseController(w), template: template, who: who, lines: newLines(r.Body)}
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
	_ = m.conn.SetWriteDeadline(time.Now().Add(answerAct + readBody))
	for len(part) > 0 {
		var now []line
		now, part = distinct(part)
		changes := make([]operations.ScheduleChange, 0, len(now))
		for _, l := range now {
			if l.err == nil {
				changes = append(changes, l.change)
			}
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(m.r.Context()), answerAct)
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

// end tells what kept the request from its end. An answer that has begun is cut off, which
// a client notices.
func (m *manyChanges) end(err error) {
	switch {
	case err == nil:
		m.begin()
	case !m.begun:
		m.s.fail(m.w, m.r, err)
	default:
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
	for i, name := range given {
		switch {
		case !slices.Contains(lineFields, name):
			l.err = invalid(fmt.Sprintf("unknown field %q; valid fields: %s", name, strings.Join(lineFields, ", ")))
		case slices.Contains(given[:i], name):
			l.err = invalid(fmt.Sprintf("the field %q is given more than once", name))
		}
	}
	if err := json.Unmarshal(text, &l.change); err != nil && l.err == nil {
		l.err = invalid("the line is invalid: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	if l.err == nil && badText(l.change.Key) {
		l.change.Key, l.err = "", invalid("the key must be UTF-8 without control, directional or invisible characters")
	}
	return l
}

// isBlank reports whether a line has nothing to read.
func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
