package targets_test

import (
	"io"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// problem answers with a problem document of a code.
func problem(status int, code string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		for i := 0; i < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"title":"x","code":"`+code+`"}`)
	}
}

func plain(status int, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
		w.WriteHeader(status)
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	cases := []struct {
		rule   string
		target http.HandlerFunc
		want   executor.Answer // Error is not compared
	}{
		{"200 is success", plain(200), executor.Answer{Kind: ledger.AnswerFresh, Status: 200}},
		{"202 is success", plain(202), executor.Answer{Kind: ledger.AnswerFresh, Status: 202}},
		{"204 without a body is success", plain(204), executor.Answer{Kind: ledger.AnswerFresh, Status: 204}},
		{"299 is success", plain(299), executor.Answer{Kind: ledger.AnswerFresh, Status: 299}},
		{"a replayed 2xx is a replay", plain(200, "Idempotent-Replayed", "true"), executor.Answer{Kind: ledger.AnswerReplayed, Status: 200}},
		{"only the value true marks a replay", plain(200, "Idempotent-Replayed", "false"), executor.Answer{Kind: ledger.AnswerFresh, Status: 200}},
		{"a replayed 404 is still refused", plain(404, "Idempotent-Replayed", "true"), executor.Answer{Kind: ledger.AnswerRefused, Status: 404, Reason: ledger.ReasonPermanent}},
		{"409 in progress waits as long as it says", problem(409, "idempotency_key_in_progress", "Retry-After", "7"),
			executor.Answer{Kind: ledger.AnswerInProgress, Status: 409, Code: "idempotency_key_in_progress", RetryAfter: 7 * time.Second}},
		{"409 of another kind is permanent", problem(409, "seat_taken", "Retry-After", "7"), executor.Answer{Kind: ledger.AnswerRefused, Status: 409, Code: "seat_taken", Reason: ledger.ReasonPermanent}},
		{"409 without a body is permanent", plain(409), executor.Answer{Kind: ledger.AnswerRefused, Status: 409, Reason: ledger.ReasonPermanent}},
		{"409 mismatch", problem(409, "idempotency_key_payload_mismatch"), executor.Answer{Kind: ledger.AnswerRefused, Status: 409, Code: "idempotency_key_payload_mismatch", Reason: ledger.ReasonPayloadMismatch}},
		{"422 mismatch", problem(422, "idempotency_key_payload_mismatch"), executor.Answer{Kind: ledger.AnswerRefused, Status: 422, Code: "idempotency_key_payload_mismatch", Reason: ledger.ReasonPayloadMismatch}},
		{"in progress is a 409 only", problem(422, "idempotency_key_in_progress"), executor.Answer{Kind: ledger.AnswerRefused, Status: 422, Code: "idempotency_key_in_progress", Reason: ledger.ReasonPermanent}},
		{"412 too late", problem(412, "run_too_late"), executor.Answer{Kind: ledger.AnswerRefused, Status: 412, Code: "run_too_late", Reason: ledger.ReasonKeyExpired}},
		{"412 of another kind is permanent", plain(412), executor.Answer{Kind: ledger.AnswerRefused, Status: 412, Reason: ledger.ReasonPermanent}},
		{"429 waits", plain(429, "Retry-After", "30"), executor.Answer{Kind: ledger.AnswerThrottled, Status: 429, SlowDown: true, RetryAfter: 30 * time.Second}},
		{"503 waits", plain(503, "Retry-After", "30"), executor.Answer{Kind: ledger.AnswerThrottled, Status: 503, RetryAfter: 30 * time.Second}},
		{"503 need not say how long", plain(503), executor.Answer{Kind: ledger.AnswerThrottled, Status: 503}},
		{"408 is tried again", plain(408), executor.Answer{Kind: ledger.AnswerFailed, Status: 408}},
		{"425 is tried again", plain(425), executor.Answer{Kind: ledger.AnswerFailed, Status: 425}},
		{"500 is tried again", problem(500, "boom"), executor.Answer{Kind: ledger.AnswerFailed, Status: 500, Code: "boom"}},
		{"504 is tried again", plain(504), executor.Answer{Kind: ledger.AnswerFailed, Status: 504}},
		{"599 is tried again", plain(599), executor.Answer{Kind: ledger.AnswerFailed, Status: 599}},
		{"600 counts as a 5xx", plain(600), executor.Answer{Kind: ledger.AnswerFailed, Status: 600}},
		{"401 with nothing to renew", plain(401), executor.Answer{Kind: ledger.AnswerRefused, Status: 401, Reason: ledger.ReasonUnauthorized}},
		{"301 is permanent", plain(301, "Location", "/elsewhere"), executor.Answer{Kind: ledger.AnswerRefused, Status: 301, Reason: ledger.ReasonPermanent}},
		{"307 is permanent", plain(307, "Location", "/elsewhere"), executor.Answer{Kind: ledger.AnswerRefused, Status: 307, Reason: ledger.ReasonPermanent}},
		{"a redirect to no URL is permanent", plain(302, "Location", "http://[::1"), executor.Answer{Kind: ledger.AnswerRefused, Status: 302, Reason: ledger.ReasonPermanent}},
		{"304 is permanent", plain(304), executor.Answer{Kind: ledger.AnswerRefused, Status: 304, Reason: ledger.ReasonPermanent}},
		{"400 is permanent", problem(400, "missing_idempotency_key"), executor.Answer{Kind: ledger.AnswerRefused, Status: 400, Code: "missing_idempotency_key", Reason: ledger.ReasonPermanent}},
		{"404 is permanent", plain(404), executor.Answer{Kind: ledger.AnswerRefused, Status: 404, Reason: ledger.ReasonPermanent}},
		{"a code that is not a word is dropped", problem(400, "<script>"), executor.Answer{Kind: ledger.AnswerRefused, Status: 400, Reason: ledger.ReasonPermanent}},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			got := attempt(t, to(t, serve(t, c.target).URL), call(), maxWait)
			if success := got.Kind == ledger.AnswerFresh || got.Kind == ledger.AnswerReplayed; success != (got.Error == "") {
				t.Errorf("error %q with answer %q: only failures have one", got.Error, got.Kind)
			}
			got.Error = ""
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestProblemCode(t *testing.T) {
	const doc = "application/problem+json"
	for _, c := range []struct{ rule, media, body, want string }{
		{"code comes first", doc, `{"code":"a_code","type":"https://x/b-code"}`, "a_code"},
		{"the type's last part stands in", doc, `{"type":"https://x.example/problems/run-too-late"}`, "run_too_late"},
		{"the type's fragment too", doc, `{"type":"https://x.example/problems#run_too_late"}`, "run_too_late"},
		{"and a urn", doc, `{"type":"urn:problem:run-too-late"}`, "run_too_late"},
		{"about:blank says nothing", doc, `{"type":"about:blank"}`, ""},
		{"media type parameters do not matter", doc + "; charset=utf-8", `{"code":"a"}`, "a"},
		{"plain JSON is read", "application/json", `{"code":"a"}`, "a"},
		{"HTML is not", "text/html", `{"code":"a"}`, ""},
		{"no media type", "", `{"code":"a"}`, ""},
		{"broken media type", ";;;", `{"code":"a"}`, ""},
		{"empty body", doc, ``, ""},
		{"no JSON", doc, `{"code":`, ""},
		{"an array", doc, `["code"]`, ""},
		{"null", doc, `null`, ""},
		{"a number is no code", doc, `{"code":409}`, ""},
		{"an object is no code", doc, `{"code":{"a":1},"type":["x"]}`, ""},
		{"upper case is no code", doc, `{"code":"Bearer"}`, ""},
		{"a line break is no code", doc, `{"code":"a\nb"}`, ""},
		{"neither is a terminal's escape", doc, `{"code":"a\u001b[2J"}`, ""},
		{"64 characters are kept", doc, `{"code":"a234567890123456789012345678901234567890123456789012345678901234"}`, "a234567890123456789012345678901234567890123456789012345678901234"},
		{"65 are not", doc, `{"code":"a2345678901234567890123456789012345678901234567890123456789012345"}`, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := targets.ProblemCode(c.media, []byte(c.body)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A 202 of a job with async says that the target works on, and how far it is.
func TestWhatAnAcceptedAnswerSays(t *testing.T) {
	typed := func(media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil // the server does not guess
			if media != "" {
				w.Header().Set("Content-Type", media)
			}
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, body)
		}
	}
	json := func(body string) http.HandlerFunc { return typed("application/json", body) }
	accepted := func(progress string) executor.Answer {
		return executor.Answer{Kind: ledger.AnswerAccepted, Status: 202, RetryAfter: 90 * time.Second, Progress: progress}
	}
	for rule, c := range map[string]struct {
		target http.HandlerFunc
		want   executor.Answer
	}{
		"a text":                        {json(`{"progress":"3 of 9"}`), accepted("3 of 9")},
		"a number":                      {json(`{"progress":0.25}`), accepted("0.25")},
		"an object":                     {json(`{"progress": {"done": 3}}`), accepted(`{"done":3}`)},
		"null":                          {json(`{"progress":null}`), accepted("")},
		"no JSON":                       {json(`3 of 9`), accepted("")},
		"no progress":                   {json(`{}`), accepted("")},
		"one line, without controls":    {json(`{"progress":"3 \u001b[2Jof 9\nmore"}`), accepted("3 \uFFFD[2Jof 9")},
		"plain text":                    {typed("text/plain", "3 of 9\nmore"), accepted("3 of 9")},
		"JSON that is called text":      {typed("text/plain; charset=utf-8", `{"progress":"3 of 9"}`), accepted("3 of 9")},
		"JSON without a type":           {typed("", `{"progress":"3 of 9"}`), accepted("3 of 9")},
		"text without a type":           {typed("", "3 of 9"), accepted("3 of 9")},
		"a kind of JSON":                {typed("application/vnd.acme+json", `{"progress":3}`), accepted("3")},
		"a page":                        {typed("text/html", "<p>3 of 9</p>"), accepted("")},
		"a stored 202 is not the end":   {plain(202, "Idempotent-Replayed", "true"), executor.Answer{Kind: ledger.AnswerAccepted, Status: 202}},
		"another 2xx is":                {plain(204), executor.Answer{Kind: ledger.AnswerFresh, Status: 204}},
		"a secret that the target sees": {json(`{"progress":"token ` + bearerToken + `"}`), accepted("redacted")},
	} {
		t.Run(rule, func(t *testing.T) {
			ts := resolve(t, jobs.Target{Auth: jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{Env: "MEMBERSHIP_TOKEN"}}},
				env{"MEMBERSHIP_URL": serve(t, c.target).URL, "MEMBERSHIP_TOKEN": bearerToken}, nil)
			work := call()
			work.Work.Call.Within = time.Hour
			if got := attempt(t, ts, work, maxWait); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
