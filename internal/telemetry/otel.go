package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// checkVariables refuses what OpenTelemetry would go on without, and would print
// whole on standard error. No message shows a value: an endpoint or a header may hold a key.
func checkVariables(lookup func(string) (string, bool)) error {
	for _, c := range []struct {
		name string
		bad  func(string) string
	}{{"ENDPOINT", badEndpoint}, {"HEADERS", badHeaders}, {"TIMEOUT", badTimeout}} {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_" + c.name, "OTEL_EXPORTER_OTLP_TRACES_" + c.name} {
			value, _ := lookup(name)
			if value = strings.TrimSpace(value); value == "" {
				continue
			}
			if want := c.bad(value); want != "" {
				return fmt.Errorf("%s must be %s (its value is not shown)", name, want)
			}
		}
	}
	return nil
}

func badEndpoint(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "the URL of a collector without user name or password, such as http://127.0.0.1:4318"
	}
	return ""
}

func badHeaders(value string) string {
	for pair := range strings.SplitSeq(value, ",") {
		name, text, is := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		text, err := url.PathUnescape(strings.TrimSpace(text))
		if !is || err != nil || name == "" || strings.ContainsFunc(name, notInName) || strings.ContainsFunc(text, notInValue) {
			return "pairs such as api-key=VALUE,other=VALUE, with other characters percent-encoded"
		}
	}
	return ""
}

func notInName(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

func notInValue(r rune) bool { return r < ' ' || r > '~' }

func badTimeout(value string) string {
	if n, err := strconv.Atoi(value); err != nil || n < 0 {
		return "a number of milliseconds, such as 10000"
	}
	return ""
}

var errRedirect = errors.New("the collector redirects, which is not followed; correct OTEL_EXPORTER_OTLP_ENDPOINT")

// proxyOf is the environment's proxy. It is asked for each request, and refuses one
// that follows a redirect: that would carry the collector's key to another host.
func proxyOf(r *http.Request) (*url.URL, error) {
	if r.Response != nil {
		return nil, errRedirect
	}
	return http.ProxyFromEnvironment(r)
}

// logOpenTelemetry has OpenTelemetry report to the log. Only what it says is passed
// on, and not the values that it says it of; of an export that failed, our own words.
func logOpenTelemetry(log *slog.Logger) {
	otel.SetLogger(logr.FromSlogHandler(wordsOnly{log.Handler()}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("traces not exported", "cause", exportCause(err))
	}))
}

// exportCause returns the cause of a failed export, without URLs, and without what a collector
// answered: it may repeat the key.
func exportCause(err error) string {
	var unanswered *url.Error
	switch {
	case errors.Is(err, errRedirect):
		return errRedirect.Error()
	case errors.As(err, &unanswered) && unanswered.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &unanswered):
		return "the collector cannot be reached"
	}
	return "the collector refused them, or the exporter failed"
}

// wordsOnly is a handler that leaves out attributes.
type wordsOnly struct{ slog.Handler }

func (h wordsOnly) Handle(ctx context.Context, r slog.Record) error {
	words := slog.NewRecord(r.Time, r.Level, "OpenTelemetry reports", r.PC)
	words.AddAttrs(slog.String("about", r.Message))
	return h.Handler.Handle(ctx, words)
}

func (h wordsOnly) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h wordsOnly) WithGroup(string) slog.Handler      { return h }
