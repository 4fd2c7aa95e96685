package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Templates lists the templates of the registry, and those that only the ledger knows.
func (s *Client) Templates(ctx context.Context) ([]operations.Template, error) {
	answer, err := get[struct {
		Templates []operations.Template `json:"templates"`
	}](ctx, s, "/v1/templates", nil)
	return answer.Templates, err
}

func schedulesPath(template string) string {
	return "/v1/jobs/" + url.PathEscape(template) + "/schedules"
}

// ListSchedules lists up to limit schedules of a template whose keys have a prefix, by key.
func (s *Client) ListSchedules(ctx context.Context, template, prefix string, limit int) ([]operations.Schedule, error) {
	return pages[operations.Schedule](ctx, s, schedulesPath(template), "schedules", given("prefix", prefix), limit)
}

// Schedule shows one schedule.
func (s *Client) Schedule(ctx context.Context, template, key string) (operations.Schedule, error) {
	return get[operations.Schedule](ctx, s, schedulesPath(template)+"/"+url.PathEscape(key), nil)
}

// ChangeSchedules changes schedules of a template: one by its own request, several as
// lines.
func (s *Client) ChangeSchedules(
	ctx context.Context, template string, changes []operations.ScheduleChange, who ledger.Actor,
) ([]operations.ScheduleOutcome, error) {
	if len(changes) != 1 {
		return s.changeMany(ctx, template, changes, who)
	}
	var v struct {
		operations.Schedule
		Result ledger.ScheduleEffect `json:"result"`
	}
	err := s.changeOne(ctx, template, changes[0], who, &v)
	if refused, is := errors.AsType[*operations.Error](err); is {
		return []operations.ScheduleOutcome{{Err: refused}}, nil
	}
	return []operations.ScheduleOutcome{{Schedule: v.Schedule, Effect: v.Result}}, err
}

func (s *Client) changeOne(ctx context.Context, template string, c operations.ScheduleChange, who ledger.Actor, into any) error {
	path, fields := schedulesPath(template)+"/"+url.PathEscape(c.Key), []string{}
	switch {
	case c.IfRevision == ledger.MustNotExist:
		fields = []string{"If-None-Match", "*"}
	case c.IfRevision > 0:
		fields = []string{"If-Match", `"` + strconv.FormatInt(c.IfRevision, 10) + `"`}
	}
	if c.Delete {
		query := actorQuery(who)
		if c.Generation > 0 {
			query.Set("generation", strconv.FormatInt(c.Generation, 10))
		}
		return s.ask(ctx, http.MethodDelete, path+"?"+query.Encode(), nil, into, fields...)
	}
	body := struct {
		operations.ScheduleChange
		By  string `json:"by,omitempty"`
		Why string `json:"why,omitempty"`
	}{c, who.By, who.Why}
	body.Key = "" // it is in the path
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.ask(ctx, http.MethodPut, path, text, into, fields...)
}

func actorQuery(who ledger.Actor) url.Values { return given("by", who.By, "why", who.Why) }

func (s *Client) changeMany(
	ctx context.Context, template string, changes []operations.ScheduleChange, who ledger.Actor,
) ([]operations.ScheduleOutcome, error) {
	var body bytes.Buffer
	lines := json.NewEncoder(&body)
	for _, c := range changes {
		if err := lines.Encode(c); err != nil {
			return nil, err
		}
	}
	var answers manyAnswers
	err := s.ask(ctx, http.MethodPost, schedulesPath(template)+"?"+actorQuery(who).Encode(), body.Bytes(), &answers, "Content-Type",
		"application/x-ndjson")
	if err == nil && len(answers) != len(changes) {
		err = fmt.Errorf("the answer has %d lines for %d schedules; send them again", len(answers), len(changes))
	}
	return answers, err
}

// manyAnswers reads NDJSON.
type manyAnswers []operations.ScheduleOutcome

func (m *manyAnswers) read(text []byte) error {
	*m = nil // of an answer that was cut short
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var line struct {
			Key      string                `json:"key"`
			Result   ledger.ScheduleEffect `json:"result"`
			Revision int64                 `json:"revision"`
			Error    *struct {
				Code   operations.Code `json:"code"`
				Detail string          `json:"detail"`
			} `json:"error"`
		}
		if err := d.Decode(&line); err != nil {
			return err
		}
		out := operations.ScheduleOutcome{Effect: line.Result, Schedule: operations.Schedule{Key: line.Key, Revision: line.Revision}}
		if line.Error != nil {
			out.Err = &operations.Error{Code: line.Error.Code, Message: line.Error.Detail}
		}
		*m = append(*m, out)
	}
	return nil
}
