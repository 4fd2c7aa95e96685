package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
)

// silence is how long a stream may send nothing, heartbeats included.
const silence = 45 * time.Second

// Follow calls tell with every change after its start, until tell fails or the
// context ends, and then returns nil. It reopens a stream that ends, at the same
// position, for as long as requests are retried.
func (s *Client) Follow(ctx context.Context, jobID string, tell func(operations.Changes) error) error {
	f := follower{Client: s, path: "/v1/events", tell: tell, heard: time.Now()}
	if jobID != "" {
		f.path += "?" + url.Values{"job": {jobID}}.Encode()
	}
	for {
		again, err := f.stream(ctx)
		switch {
		case f.failed != nil:
			return f.failed
		case ctx.Err() != nil:
			return nil
		case again == final, time.Since(f.heard) > s.patient:
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(again, 200*time.Millisecond)):
		}
	}
}

// follower reads one stream after another.
type follower struct {
	*Client
	path     string
	tell     func(operations.Changes) error
	position string    // the last id
	heard    time.Time // the last line
	failed   error     // of tell
}

// stream reads one stream to its end. again is as once has it.
func (f *follower) stream(ctx context.Context) (again time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := f.request(ctx, http.MethodGet, f.path, nil)
	if err != nil {
		return final, err
	}
	if r.Header.Set("Accept", "text/event-stream, application/problem+json"); f.position != "" {
		r.Header.Set("Last-Event-ID", f.position)
	}
	watch := time.AfterFunc(silence, cancel)
	defer watch.Stop()
	client := *f.client
	client.Timeout = 0 // watch bounds it
	res, err := client.Do(r)
	if err != nil {
		return f.noAnswer(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // cut short, it is no problem document
		return f.refused(res, text)
	}
	if media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); media != "text/event-stream" {
		return final, fmt.Errorf("%s answered what is not of its API; is --server right?", f.base)
	}
	return f.read(res.Body, func() { watch.Reset(silence) })
}

func (f *follower) read(body io.Reader, heard func()) (again time.Duration, err error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	var kind, data, id string
	for lines.Scan() {
		heard()
		f.heard = time.Now()
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			kind = value
		case "data":
			data = value
		case "id":
			id = value
		case "":
			if err := f.event(kind, data); err != nil {
				return final, err
			}
			if id != "" {
				f.position = id
			}
			kind, data, id = "", "", ""
		}
	}
	return 0, fmt.Errorf("the stream of %s ended: %w", f.base, errors.Join(lines.Err(), io.ErrUnexpectedEOF))
}

// event tells an event; kinds of later versions are passed over.
func (f *follower) event(kind, data string) error {
	got := operations.Changes{Lost: kind == "reload"}
	if kind == "run" {
		var run operations.Run
		if err := json.Unmarshal([]byte(data), &run); err != nil {
			return fmt.Errorf("%s sent an event that is not of its API: %w", f.base, err)
		}
		got.Runs = append(got.Runs, run)
	}
	if got.Runs == nil && !got.Lost {
		return nil
	}
	f.failed = f.tell(got)
	return f.failed
}
