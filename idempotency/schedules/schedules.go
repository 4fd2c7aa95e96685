// Package schedules is a client for the schedules that an application makes in cronce at
// run time: one for each of its customers, or one delayed call.
//
// Every change may be repeated. So make a change after your own transaction has committed,
// and repeat it until it is answered: a row that the transaction writes says what is still
// to be sent (docs/schedules.md, "Your data and your schedules").
package schedules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client changes the schedules of a cronce server. It is safe for concurrent use.
type Client struct {
	Config
}

// Config says which server a Client asks, and as whom.
type Config struct {
	URL   string // of the server, such as https://cronce.example.com; required
	Token string // of the role scheduler; "" on the server's own machine
	// By names who acts where no token proves it.
	By string
	// HTTP is the client that sends the requests; default: one with a timeout of 30s. No
	// redirect is followed, since it could make a GET of a change.
	HTTP *http.Client
	// RetryFor is the time for which a request is repeated if the server does not answer,
	// or cannot take it now; default 30s.
	RetryFor time.Duration
}

// New returns a Client. It connects to nothing.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("schedules: URL must be that of a cronce server, such as https://cronce.example.com")
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	client := http.Client{Timeout: 30 * time.Second}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.HTTP = &client
	if c.RetryFor == 0 {
		c.RetryFor = 30 * time.Second
	}
	return &Client{c}, nil
}

// Schedule is when cronce makes the call of a template for one key, and with which data.
type Schedule struct {
	Key string `json:"key"`
	// Schedule is as in the registry: crontab fields, @every 1h, or At for one call.
	Schedule string    `json:"schedule"`
	Timezone string    `json:"timezone,omitempty"` // IANA name; default: the template's
	DST      string    `json:"dst,omitempty"`      // default: the template's
	Data     any       `json:"data,omitempty"`     // encoded as a JSON object of at most 16 KiB
	Until    time.Time `json:"until,omitzero"`     // no later scheduled time runs; whole seconds
	// Generation is a number of your own that rises with each change, such as the version
	// of a row. A change with a lower one than the stored is refused with ErrLater, so
	// that changes may arrive in any order. 0: none.
	Generation int64 `json:"generation,omitempty"`
}

// At returns the schedule of one call at a time, in whole seconds. For a call after a
// delay, add it to a time that you have stored: a repetition then says the same.
func At(t time.Time) (schedule, timezone string) {
	return "at(" + t.UTC().Format("2006-01-02T15:04:05") + ")", "UTC"
}

// Stored is a schedule as the server has it.
type Stored struct {
	JobID      string          `json:"jobId"` // by which the server's operators know it
	Key        string          `json:"key"`
	Schedule   string          `json:"schedule"`
	Timezone   string          `json:"timezone"`
	Data       json.RawMessage `json:"data"`
	Generation int64           `json:"generation"`
	Revision   int64           `json:"revision"`
	State      string          `json:"state"`  // active, paused, ended, disabled, unfit or orphaned
	Next       string          `json:"next"`   // RFC 3339; "": none
	Result     string          `json:"result"` // of a change: created, changed, unchanged or deleted
}

// Error is a request that the server refused.
type Error struct {
	Status int
	Code   string // stable; see docs/api.md
	Detail string
}

func (e *Error) Error() string { return "cronce: " + e.Detail }

// Is reports whether the error is ErrLater, ErrTooMany or ErrUnknown.
func (e *Error) Is(target error) bool {
	of, is := target.(*Error)
	return is && of.Code == e.Code
}

// Refusals that a program may expect.
var (
	ErrLater   error = &Error{Code: "later_generation"}
	ErrTooMany error = &Error{Code: "too_many_schedules"}
	ErrUnknown error = &Error{Code: "unknown_schedule"}
)

// Put makes the schedule, or replaces it as a whole. It takes effect at once, and never
// for the past. The same Put again changes nothing.
func (c *Client) Put(ctx context.Context, template string, s Schedule) (v Stored, err error) {
	body, err := c.body(s)
	if err != nil {
		return v, err
	}
	err = c.ask(ctx, http.MethodPut, path(template, s.Key), "application/json", body, into(&v))
	return v, err
}

// body is a schedule without its key, which is in the path, and with who acts.
func (c *Client) body(s Schedule) ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "key")
	if c.By != "" {
		fields["by"], _ = json.Marshal(c.By) // a text
	}
	return json.Marshal(fields)
}

// Get returns a schedule, or ErrUnknown.
func (c *Client) Get(ctx context.Context, template, key string) (v Stored, err error) {
	err = c.ask(ctx, http.MethodGet, path(template, key), "", nil, into(&v))
	return v, err
}

// Delete deletes a schedule; its runs stay. It returns ErrUnknown if there never was one.
// With a generation other than 0, changes with a lower one that arrive later are refused.
func (c *Client) Delete(ctx context.Context, template, key string, generation int64) error {
	query := c.query()
	if generation != 0 {
		query.Set("generation", strconv.FormatInt(generation, 10))
	}
	return c.ask(ctx, http.MethodDelete, path(template, key)+"?"+query.Encode(), "", nil, into(new(Stored)))
}

func (c *Client) query() url.Values {
	query := url.Values{}
	if c.By != "" {
		query.Set("by", c.By)
	}
	return query
}

// Change is one of PutMany.
type Change struct {
	Schedule
	Delete bool `json:"delete,omitempty"`
}

// MarshalJSON leaves out what a deletion does not have.
func (c Change) MarshalJSON() ([]byte, error) {
	if c.Delete {
		return json.Marshal(struct {
			Key        string `json:"key"`
			Delete     bool   `json:"delete"`
			Generation int64  `json:"generation,omitempty"`
		}{c.Key, true, c.Generation})
	}
	return json.Marshal(c.Schedule)
}

// Result is what became of a Change.
type Result struct {
	Key      string
	Result   string // created, changed, unchanged or deleted; "" if Err is set
	Revision int64
	Err      error // an Error: this change was refused, which changes nothing of the others
}

// PutMany makes many changes, and returns a Result for each, in order. After an error some
// of them may have been made: send all again.
func (c *Client) PutMany(ctx context.Context, template string, changes []Change) (results []Result, err error) {
	var body bytes.Buffer
	for lines := json.NewEncoder(&body); len(results) < len(changes); results = append(results, Result{}) {
		if err := lines.Encode(changes[len(results)]); err != nil {
			return nil, err
		}
	}
	err = c.ask(ctx, http.MethodPost, path(template, "")+"?"+c.query().Encode(), "application/x-ndjson", body.Bytes(),
		func(text []byte) error {
			results, err = readResults(text)
			if err == nil && len(results) != len(changes) {
				err = fmt.Errorf("the answer has %d lines for %d changes", len(results), len(changes))
			}
			return err
		})
	return results, err
}

func readResults(text []byte) (results []Result, err error) {
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var line struct {
			Key      string `json:"key"`
			Result   string `json:"result"`
			Revision int64  `json:"revision"`
			Error    *Error `json:"error"`
		}
		if err := d.Decode(&line); err != nil {
			return nil, err
		}
		r := Result{Key: line.Key, Result: line.Result, Revision: line.Revision}
		if line.Error != nil {
			r.Err = line.Error
		}
		results = append(results, r)
	}
	return results, nil
}

func path(template, key string) string {
	p := "/v1/jobs/" + url.PathEscape(template) + "/schedules"
	if key != "" {
		p += "/" + url.PathEscape(key)
	}
	return p
}

func into(v any) func([]byte) error {
	return func(text []byte) error { return json.Unmarshal(text, v) }
}

// ask sends a request until it is answered for good or RetryFor is over.
func (c *Client) ask(ctx context.Context, method, path, media string, body []byte, read func([]byte) error) error {
	for began, wait := time.Now(), 200*time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		again, err := c.once(ctx, method, path, media, body, read)
		if err == nil || !again || time.Since(began)+wait > c.RetryFor {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(wait):
		}
	}
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// once sends a request; again says whether it may succeed if it is repeated.
func (c *Client) once(ctx context.Context, method, path, media string, body []byte, read func([]byte) error) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	res, err := c.HTTP.Do(r)
	if err != nil {
		return ctx.Err() == nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return true, fmt.Errorf("the answer was cut short: %w", err)
	}
	if res.StatusCode >= 300 {
		refused := &Error{Status: res.StatusCode}
		if json.Unmarshal(text, refused) != nil || refused.Code == "" {
			refused.Detail = fmt.Sprintf("the server answered HTTP %d", res.StatusCode)
		}
		busy := res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 502 && res.StatusCode <= 504
		return busy, refused
	}
	if err := read(text); err != nil {
		return true, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return false, nil
}
