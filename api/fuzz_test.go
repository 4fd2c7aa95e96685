package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// sendable makes any text a query or a path that a client can send.
func sendable(text string) string {
	if strings.ContainsAny(text, "#?/") || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return url.PathEscape(text)
	}
	return text
}

// inPath is sendable for an ID in a path, where an escape must be one.
func inPath(id string) string {
	if _, err := url.PathUnescape(id); err != nil {
		return url.PathEscape(id)
	}
	return sendable(id)
}

// FuzzParameters: whatever the query, the ID in the path and the fields of a
// question, it does not fail the server and keeps to the document.
func FuzzParameters(f *testing.F) {
	for _, q := range []string{
		"job=tick", "state=dead&state=x", "limit=-1", "cursor=eyJsIjoicnVucyJ9", "since=2026-11-22T00:00:00%2b01:00", "a=%ff", "open=maybe",
		"job=tick&at=0000-01-01T00:00:00Z", "until=9999-12-31T23:59:59Z", "after=9999-12-31T23:59:59Z&count=1000", "cursor=eyJsIjoiYXVkaXQiLCJhIjo5MjIzMzcyMDM2ODU0Nzc1ODA3fQ",
	} {
		f.Add(q, "tick", "5")
	}
	for _, id := range []string{"tick@2026-11-22T00:00:00Z", "..", "%", "\x00", "\xff", "a@b/c", strings.Repeat("x", 400), "-1", "9223372036854775808", "'; DROP TABLE runs"} {
		f.Add("", id, id)
	}
	base, all := onFile(f, loopback), routes(f)
	f.Fuzz(func(t *testing.T, query, id, field string) {
		s := *base
		s.TB = t
		if strings.ContainsFunc(field, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			field = "x" // no client can send it
		}
		for _, r := range all {
			if r.method != http.MethodGet || r.id == "getDocument" || r.id == "streamEvents" && query == "" {
				continue
			}
			path := strings.NewReplacer("{id}", inPath(id), "{key}", inPath(id)).Replace(r.path)
			if r.id == "streamEvents" {
				if status := s.askAs(r, ask{query: "?" + sendable(query)}, ""); status >= 500 {
					t.Fatalf("%s?%s: %d", path, query, status)
				}
				continue
			}
			if a := s.get(path+"?"+sendable(query), "If-None-Match", field, "Last-Event-ID", field); a.StatusCode >= 500 {
				t.Fatalf("%s?%s: %d %s", path, query, a.StatusCode, a.body)
			}
		}
	})
}

// FuzzActions: whatever the body, the key and the ID of a mutation, it does not fail the
// server and keeps to the document.
func FuzzActions(f *testing.F) {
	for _, body := range []string{
		`{"why":"a","by":"b"}`, `{"why":"a","by":"b","dryRun":true,"job":"tick"}`, `{"why":"a","by":"b","runIds":["\u0000"]}`, `{"why":"\ud800","by":"b","job":"tick"}`,
		`{"why":"a","by":"b","from":"0000-01-01T00:00:00Z","to":"9999-12-31T23:59:59Z"}`, `{"why":"a","by":"b","newKey":true}`, `{"why":"a","why":"b"}`, `{"WHY":"a","by":"b"}`,
		`{"why":"a","by":"b","job":"tick","limit":1e9}`, `{"why":"a","by":"b","job":"tick","state":["dead"],"since":"2026-11-22T00:00:00.000000001Z"}`, "[", "\x00", "nil",
	} {
		f.Add(body, "k", "tick")
	}
	f.Add(`{"why":"a","by":"b"}`, "\xff", "tick@2026-11-22T00:00:00Z")
	f.Add(`{"why":"a","by":"b","dryRun":true}`, `"quoted"`, "%00")
	base, all := onFile(f, loopback), routes(f)
	f.Fuzz(func(t *testing.T, body, key, id string) {
		s := *base
		s.TB = t
		if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			key = "x" // no client can send it
		}
		for _, r := range all {
			if r.method != http.MethodPost {
				continue
			}
			path := strings.NewReplacer("{id}", inPath(id), "{key}", inPath(id)).Replace(r.path)
			if a := s.send(http.MethodPost, path, body, "Idempotency-Key", key); a.StatusCode >= 500 {
				t.Fatalf("%s %q: %d %s", path, body, a.StatusCode, a.body)
			}
		}
	})
}
