package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// schedulePage is a page of the schedules of a template.
type schedulePage struct {
	Schedules []operations.Schedule `json:"schedules"`
	Next      string                `json:"next,omitempty"`
}

// schedulePath is the path of one schedule.
const schedulePath = "/v1/jobs/{id}/schedules/{key}"

// schedules serves what the role scheduler may do.
func (s *server) schedules() {
	s.getAs(access.Scheduler, "/v1/templates", false, func(ctx context.Context, _ *http.Request, _ *params) (any, error) {
		list, err := s.ops.Templates(ctx)
		who := access.FromContext(ctx)
		list = slices.DeleteFunc(list, func(t operations.Template) bool { return !who.MayRead(t.ID) })
		return map[string]any{"templates": list}, err
	})
	s.handle("GET "+schedulePath, s.getSchedule)
	s.getAs(access.Scheduler, "/v1/jobs/{id}/schedules", false, s.listSchedules, "prefix", "limit", "cursor")
	s.handle("PUT "+schedulePath, s.changes(s.put))
	s.handle("DELETE "+schedulePath, s.changes(s.remove))
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

func (s *server) listSchedules(ctx context.Context, r *http.Request, q *params) (any, error) {
	template, who := r.PathValue("id"), access.FromContext(ctx)
	if err := operations.MayReadSchedules(who, template); err != nil {
		return nil, err
	}
	f := ledger.ScheduleFilter{Template: template, KeyPrefix: q.text("prefix"),
		Limit: q.count("limit", operations.DefaultPage, operations.MaxPage), AfterKey: q.cursor("schedules").ID}
	if q.err != nil {
		return nil, q.err
	}
	list, more, err := s.ops.Schedules(ctx, f)
	for i := range list {
		list[i] = hideData(list[i], who)
	}
	page := schedulePage{Schedules: list}
	if more {
		page.Next = position{List: "schedules", ID: list[len(list)-1].Key}.String()
	}
	return page, err
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

// changes serves a change of the schedule in the path, which read reads from a request.
func (s *server) changes(read func(http.ResponseWriter, *http.Request) (changeBody, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, err := s.changeOne(w, r, read)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		w.Header().Set("ETag", revisionTag(out.Schedule.Revision))
		status := http.StatusOK
		if out.Effect == ledger.ScheduleCreated {
			status = http.StatusCreated
		}
		writeJSON(w, "application/json", status, scheduleAnswer{out.Effect, out.Schedule})
	}
}

func (s *server) put(w http.ResponseWriter, r *http.Request) (body changeBody, err error) {
	if err := checkQuery(r, changeFields); err != nil {
		return body, err
	}
	err = decodeInto(w, r, changeFields, &body)
	return body, err
}

func (s *server) remove(_ http.ResponseWriter, r *http.Request) (body changeBody, err error) {
	q := query(r, "generation", "by", "why")
	body.By, body.Why, body.Delete = q.text("by"), q.text("why"), true
	if text := q.text("generation"); text != "" {
		if body.Generation, err = strconv.ParseInt(text, 10, 64); err != nil || body.Generation < 1 {
			q.fail("invalid generation %q; it must be a number of at least 1", text)
		}
	}
	return body, q.err
}

func (s *server) changeOne(
	w http.ResponseWriter, r *http.Request, read func(http.ResponseWriter, *http.Request) (changeBody, error),
) (out operations.ScheduleOutcome, err error) {
	by := operations.Caller{Identity: access.FromContext(r.Context()), Via: ledger.ViaAPI}
	if err := operations.MayChangeSchedules(by.Identity, r.PathValue("id")); err != nil {
		return out, err
	}
	body, err := read(w, r)
	if err == nil {
		err = setCondition(r, &body.ScheduleChange)
	}
	if err != nil {
		return out, err
	}
	who, err := operations.ScheduleActor(by, body.By, body.Why)
	if err != nil {
		return out, err
	}
	body.Key = r.PathValue("key")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), answerAction)
	defer cancel()
	list, err := s.ops.ChangeSchedules(ctx, r.PathValue("id"), []operations.ScheduleChange{body.ScheduleChange}, who)
	if err != nil {
		return out, err
	}
	return list[0], list[0].Err
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
