package targets_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

func probe(t *testing.T, h http.HandlerFunc, change func(http.Header)) targets.ProbeResult {
	t.Helper()
	return probeAs(t, jobs.Target{}, env{"MEMBERSHIP_URL": serve(t, h).URL}, change)
}

func probeAs(t *testing.T, target jobs.Target, e env, change func(http.Header)) targets.ProbeResult {
	t.Helper()
	return resolve(t, target, e, nil).Probe(context.Background(), call(), targets.ProbeOptions{Edit: change})
}

func TestAProbeIsTheCallThatAJobMakes(t *testing.T) {
	got := probeAs(t, jobs.Target{Auth: jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{Env: "TOKEN"}}}, env{"TOKEN": "s3cret", "MEMBERSHIP_URL": serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" || r.Header.Get("Idempotency-Key") != runID || r.URL.Path != "/v1/locks/release" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		w.Header().Set("Idempotent-Replayed", "true")
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Location", "/back?token=s3cret")
	}).URL}, nil)
	if got.Kind != ledger.AnswerReplayed || got.Status != 200 || got.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("probed %+v", got)
	}
	if got.Header.Get("Set-Cookie") != "" || strings.Contains(fmt.Sprint(got), "s3cret") {
		t.Errorf("fields %v: want those of interest, without credentials", got.Header)
	}
}

func TestAProbeMayChangeTheRequestsFields(t *testing.T) {
	probe(t, func(_ http.ResponseWriter, r *http.Request) {
		if _, has := r.Header["Idempotency-Key"]; has {
			t.Errorf("fields %v: want no key", r.Header)
		}
	}, func(h http.Header) { h.Del("Idempotency-Key") })
}

func TestAProbeTellsBodiesApart(t *testing.T) {
	say := func(status int, text string) targets.ProbeResult {
		return probe(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}, nil)
	}
	for _, status := range []int{200, 400} {
		if one, other := say(status, "a"), say(status, "a"); one.BodySHA256 != other.BodySHA256 {
			t.Errorf("equal bodies of HTTP %d have different sums", status)
		}
	}
	if say(200, "a").BodySHA256 == say(200, "b").BodySHA256 || say(200, "").BodySHA256 == say(200, "b").BodySHA256 {
		t.Error("different bodies have equal sums")
	}
}

func TestAProbeStillReadsTheProblemCode(t *testing.T) {
	got := probe(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(409)
		fmt.Fprint(w, `{"code":"idempotency_key_payload_mismatch"}`)
	}, nil)
	if got.Reason != ledger.ReasonPayloadMismatch {
		t.Errorf("probed %+v", got)
	}
}

func TestAProbeStandsBeforeNoBreaker(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": s.URL}, func(c *targets.Config) { c.BreakerFailures = 1 })
	for range 3 {
		if got := ts.Probe(context.Background(), call(), targets.ProbeOptions{}); got.Unsent || got.Status != 500 {
			t.Errorf("probed %+v", got)
		}
	}
}

func TestAProbeOfNobodyIsNotSent(t *testing.T) {
	c := call()
	c.Call.Target = "nobody"
	if got := to(t, nobody).Probe(context.Background(), c, targets.ProbeOptions{}); !got.Unsent || got.Error == "" {
		t.Errorf("probed %+v", got)
	}
	if got := to(t, nobody).Probe(context.Background(), call(), targets.ProbeOptions{}); got.Status != 0 || got.Error == "" || got.Header != nil {
		t.Errorf("probed %+v", got)
	}
}
