package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/cronce/cronce/executor"
)

// Tracing makes a span of each attempt and sends its traceparent to the
// target. It is on when an OTLP endpoint is set by the standard variables
// (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) and
// OTEL_SDK_DISABLED is not "true"; the exporter, the sampler and the resource
// read their own OTEL_ variables.
type Tracing struct {
	provider *sdktrace.TracerProvider // nil: off
	tracer   trace.Tracer
}

// NewTracing sets tracing up as the environment says, and has OpenTelemetry report
// to the log. Close flushes it.
func NewTracing(ctx context.Context, lookup func(string) (string, bool), log *slog.Logger) (*Tracing, error) {
	if !wanted(lookup) {
		return &Tracing{}, nil
	}
	if err := checkVariables(lookup); err != nil {
		return nil, err
	}
	logOpenTelemetry(log)
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithProxy(proxyOf))
	if err != nil {
		return nil, fmt.Errorf("tracing, as the OTEL_ variables ask for it: %w", err)
	}
	res, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "cronce")),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES must be pairs such as deployment.environment=prod, with other characters " +
			"percent-encoded (its value is not shown)")
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
	return &Tracing{provider, provider.Tracer("github.com/cronce/cronce")}, nil
}

func wanted(lookup func(string) (string, bool)) bool {
	if v, _ := lookup("OTEL_SDK_DISABLED"); strings.EqualFold(v, "true") {
		return false
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if v, _ := lookup(name); v != "" {
			return true
		}
	}
	return false
}

// Inject puts the traceparent of the context's span into a request's header.
func (t *Tracing) Inject(ctx context.Context, h http.Header) {
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
}

// Wrap makes a span of each of the caller's attempts.
func (t *Tracing) Wrap(c executor.Caller) executor.Caller {
	if t.provider == nil {
		return c
	}
	return &traced{t.tracer, c}
}

// Close sends what has not been sent yet, while ctx lasts.
func (t *Tracing) Close(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

type traced struct {
	tracer trace.Tracer
	next   executor.Caller
}

func (t *traced) Call(ctx context.Context, c executor.Call) executor.Answer {
	ctx, span := t.tracer.Start(ctx, "cronce.attempt", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("cronce.run_id", c.RunID),
		attribute.String("cronce.job_id", c.JobID),
		attribute.Int("cronce.attempt", c.Attempt),
		attribute.String("cronce.target", c.Call.Target),
	))
	defer span.End()
	a := t.next.Call(ctx, c)
	span.SetAttributes(attribute.String("cronce.answer", string(a.Kind)), attribute.Int("http.response.status_code", a.Status))
	if a.Error != "" {
		span.SetStatus(codes.Error, a.Error)
	}
	return a
}
