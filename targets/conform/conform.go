package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Config configures Run. Only URLs is required.
type Config struct {
	// URLs are the base URLs of the service's instances, which share one
	// database. Calls go to each of them in turn.
	URLs []string
	// Dial opens connections; default: net.Dialer. If an error of Dial or Proxy has a
	// method Permanent() bool that returns true, the suite does not wait for the service.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy returns the proxy for a request; default: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Callers is the number of concurrent calls of a case that tests many callers;
	// default 20.
	Callers int
	// MaxWait is how long the suite waits for a service to come back, a key to
	// become free or a key to expire; default 30s.
	MaxWait time.Duration
	// Hold is how long the work of the case in-flight takes at first. While the service
	// waits longer for another call, the case is tried again with twice and three times
	// Hold. Default 2.5s.
	Hold time.Duration
	// Only lists the names of the cases to run; default all.
	Only []string
}

// Outcome is the outcome of a case.
type Outcome string

const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Advised Outcome = "advised" // an advisory case failed; every effect is still applied once
	Skipped Outcome = "skipped" // the service does not support the case
)

// Result is the result of one case.
type Result struct {
	Case    string  `json:"case"`
	Outcome Outcome `json:"outcome"`
	Rule    string  `json:"rule"`
	Source  string  `json:"source"`
	Detail  string  `json:"detail,omitempty"` // what was found; empty if it passed
	Millis  int64   `json:"tookMillis"`
}

// Report holds the results of all cases.
type Report struct {
	Conforms bool     `json:"conforms"`
	URLs     []string `json:"urls"`
	Results  []Result `json:"results"`
}

// Count returns the number of results with an outcome.
func (r Report) Count(o Outcome) (n int) {
	for _, result := range r.Results {
		if result.Outcome == o {
			n++
		}
	}
	return n
}

// ErrNotReady reports that the service does not answer GET /conform as the protocol
// requires.
var ErrNotReady = errors.New("the service does not follow the conformance protocol")

// Run runs all cases, one after the other, with new keys and operations. Its
// error means that nothing could be tested, or that ctx ended.
func Run(ctx context.Context, c Config) (Report, error) {
	s, err := newSuite(c)
	if err != nil {
		return Report{}, err
	}
	for instance := range s.urls {
		found, err := s.waitReady(ctx, instance)
		if err != nil {
			return Report{}, err
		}
		s.service = found.and(s.service, instance == 0)
	}
	report := Report{Conforms: true, URLs: c.URLs}
	for _, k := range cases {
		if len(c.Only) > 0 && !slices.Contains(c.Only, k.name) {
			continue
		}
		begin := time.Now()
		result := Result{Case: k.name, Rule: k.rule, Source: k.source, Outcome: Passed}
		steps := &script{suite: s, ctx: ctx}
		k.run(steps)
		err := steps.err
		if ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
		var skipped skip
		switch {
		case errors.As(err, &skipped):
			result.Outcome, result.Detail = Skipped, err.Error()
		case err != nil && k.advisory:
			result.Outcome, result.Detail = Advised, err.Error()
		case err != nil:
			result.Outcome, result.Detail = Failed, err.Error()
			report.Conforms = false
		}
		result.Millis = time.Since(begin).Milliseconds()
		report.Results = append(report.Results, result)
	}
	return report, nil
}

// Cases returns the names of all cases, in their order.
func Cases() (names []string) {
	for _, k := range cases {
		names = append(names, k.name)
	}
	return names
}

// Rule returns the rule that a case tests; "" if there is no such case.
func Rule(name string) string {
	for _, k := range cases {
		if k.name == name {
			return k.rule
		}
	}
	return ""
}

// skip is the reason why a case cannot be tested.
type skip string

func (s skip) Error() string { return string(s) }

// ParseURL checks a base URL and returns it without a slash at its end.
func ParseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("invalid base URL %q; use http://127.0.0.1:8080 or https://host/path, without user, query and fragment", text)
	}
	return strings.TrimRight(text, "/"), nil
}

// service is the answer to GET /conform.
type service struct {
	Protocol     int     `json:"protocol"`
	Crash        bool    `json:"crash"`
	BriefSeconds float64 `json:"briefSeconds"`
	Long         bool    `json:"long"`
}

// and returns what both services can do.
func (s service) and(others service, first bool) service {
	if !first {
		s.Crash = s.Crash && others.Crash
		s.Long = s.Long && others.Long
		s.BriefSeconds = min(s.BriefSeconds, others.BriefSeconds)
	}
	return s
}

// waitReady waits until an instance answers GET /conform.
func (s *suite) waitReady(ctx context.Context, instance int) (found service, err error) {
	err = s.eventually(ctx, func() error {
		a, err := s.get(ctx, instance, "/conform")
		if err != nil {
			return err
		}
		if a.status != http.StatusOK || json.Unmarshal(a.body, &found) != nil || found.Protocol != 1 {
			return fmt.Errorf("GET /conform: %s; want 200 and {\"protocol\": 1}", a)
		}
		return nil
	})
	if err != nil {
		return found, fmt.Errorf("%w: %s: %w", ErrNotReady, s.urls[instance], err)
	}
	return found, nil
}
