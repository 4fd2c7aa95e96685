package idempotency_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
)

// A body that was read outside of the kit cannot be told from another one, and
// a second payment would be answered with the first one's reply.
func TestABodyThatWasReadBeforeIsRefused(t *testing.T) {
	parse := func(r *http.Request) { _ = r.ParseMultipartForm(1 << 20) }
	drain := func(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("amount", "100")
	_ = w.Close()
	const urlencoded = "application/x-www-form-urlencoded"
	for _, c := range []struct {
		name, kind, body string
		chunked          bool
		outer            func(*http.Request)
	}{
		{"a form parsed", urlencoded, "amount=100", false, parse},
		{"a form in chunks parsed", urlencoded, "amount=100", true, parse},
		{"a multipart form parsed", w.FormDataContentType(), form.String(), false, parse},
		{"a multipart form in chunks parsed", w.FormDataContentType(), form.String(), true, parse},
		{"a form value asked for", urlencoded, "amount=100", false, func(r *http.Request) { r.FormValue("csrf") }},
		{"JSON decoded", "application/json", `{"amount":100}`, false, drain},
		{"JSON in chunks drained", "application/json", `{"amount":100}`, true, drain},
		{"JSON in chunks decoded", "application/json", `{"amount":100}`, true, func(r *http.Request) { _ = json.NewDecoder(r.Body).Decode(&struct{}{}) }},
		{"JSON decoded in part", "application/json", `{"to":"a"} {"amount":100}`, false, func(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, 10) }},
	} {
		kit, err := idempotency.New(untouched{t}, idempotency.Options{Principal: idempotency.SinglePrincipal("caller")})
		if err != nil {
			t.Fatal(err)
		}
		inner := kit.Handler(idempotency.Route{Scope: "s"}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was run") }))
		r := httptest.NewRequest("POST", "/pay", strings.NewReader(c.body))
		r.Header.Set("Idempotency-Key", "k")
		r.Header.Set("Content-Type", c.kind)
		if c.chunked {
			r.ContentLength = -1
		}
		c.outer(r)
		answer := httptest.NewRecorder()
		inner.ServeHTTP(answer, r)
		if answer.Code != 500 || !strings.Contains(answer.Body.String(), "request_body_consumed") {
			t.Errorf("%s outside: answered %d %s", c.name, answer.Code, answer.Body)
		}
	}
}

func TestAFormThatCanStillBeReadIsServed(t *testing.T) {
	w := newWire(t)
	w.handle("POST /pay", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.PostFormValue("amount")) })
	for _, c := range []struct {
		key, body string
		outer     func(*http.Request)
	}{
		{"untouched", "amount=100", func(*http.Request) {}},
		{"empty", "", func(r *http.Request) { _ = r.ParseForm() }},
		{"put-back", "amount=100", func(r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			_ = r.ParseForm()
			r.Body = io.NopCloser(bytes.NewReader(body))
		}},
	} {
		r := httptest.NewRequest("POST", "/pay", strings.NewReader(c.body))
		r.Header.Set("Idempotency-Key", c.key)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		c.outer(r)
		answer := httptest.NewRecorder()
		w.mux.ServeHTTP(answer, r)
		if answer.Code != 200 || !strings.HasSuffix(c.body, answer.Body.String()) {
			t.Errorf("%s: answered %d %q", c.key, answer.Code, answer.Body)
		}
	}
}

// The payloads of one key must be told apart on every protocol, whatever reads the body outside.
func TestABodyWithoutALengthThatWasReadBeforeIsRefused(t *testing.T) {
	w := newWire(t)
	w.handle("POST /pay", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	reads := http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Read") != "" {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		w.mux.ServeHTTP(answer, r)
	})
	for _, protocol := range []int{1, 2} {
		server := httptest.NewUnstartedServer(reads)
		server.EnableHTTP2 = protocol == 2
		server.StartTLS()
		t.Cleanup(server.Close)
		for _, c := range []struct {
			read, body string
			status     int
		}{{"", `{"cents":100}`, 201}, {"yes", `{"cents":100}`, 500}, {"yes", `{"cents":999}`, 500}, {"", "", 500}} {
			r, _ := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/pay", io.MultiReader(strings.NewReader(c.body)))
			r.Header = http.Header{"Idempotency-Key": {"k"}, "Content-Type": {"application/json"}, "X-Read": {c.read}}
			answer, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if answer.StatusCode != c.status || answer.ProtoMajor != protocol || c.status == 500 && !strings.Contains(string(text), "request_body_consumed") {
				t.Errorf("%s, %q read before: %q: answered %d %s, want %d", answer.Proto, c.body, c.read, answer.StatusCode, text, c.status)
			}
		}
	}
}
