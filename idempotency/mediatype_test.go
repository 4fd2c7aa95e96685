package idempotency_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
)

func TestAMediaTypeCountsByItsMeaning(t *testing.T) {
	const form = "multipart/form-data; boundary="
	fields := func(boundary, cents string) string {
		return strings.ReplaceAll("--B\r\nContent-Disposition: form-data; name=\"cents\"\r\n\r\n"+cents+
			"\r\n--B\r\nContent-Disposition: form-data; name=\"to\"\r\n\r\nx\r\n--B--\r\n", "B", boundary)
	}
	for _, c := range []struct {
		name, kind, body, otherKind, otherBody string
		same                                   bool
	}{
		{"JSON is UTF-8", "application/json", "{}", "application/json; charset=utf-8", "{}", true},
		{"a charset in capitals", "application/json;charset=UTF-8", "{}", "application/json; charset=utf-8", "{}", true},
		{"types that end in +json", "application/vnd.a+json; CHARSET=\"UTF-8\"", "{}", "application/vnd.a+json", "{}", true},
		{"a form is UTF-8", "application/x-www-form-urlencoded", "a=1", "application/x-www-form-urlencoded;charset=UTF-8", "a=1", true},
		{"text in capitals", "text/plain;charset=UTF-8", "x", "text/plain; charset=utf-8", "x", true},
		{"text without a charset", "text/plain", "x", "text/plain; charset=utf-8", "x", false},
		{"another charset", "application/json; charset=utf-16", "{}", "application/json", "{}", false},
		{"another parameter", "application/json; version=2", "{}", "application/json", "{}", false},
		{"a new boundary", form + "a1", fields("a1", "100"), form + `"b 2"; charset=UTF-8`, fields("b 2", "100"), false},
		{"a new boundary of the same fields", form + "a1", fields("a1", "100"), form + `"b 2"`, fields("b 2", "100"), true},
		{"without the last line break", form + "a1", fields("a1", "100"), form + "a1", strings.TrimSuffix(fields("a1", "100"), "\r\n"), true},
		{"another field", form + "a1", fields("a1", "100"), form + "b2", fields("b2", "999"), false},
		{"another type of several parts", form + "a1", fields("a1", "100"), "multipart/mixed; boundary=a1", fields("a1", "100"), false},
		{"a boundary inside of a part", form + "a", fields("a", "1--a"), form + "b", fields("b", "1--b"), false},
		{"line feeds alone", form + "a1", strings.ReplaceAll(fields("a1", "1"), "\r", ""), form + "b2", strings.ReplaceAll(fields("b2", "1"), "\r", ""), false},
		{"no last boundary", form + "a1", strings.TrimSuffix(fields("a1", "1"), "--a1--\r\n"), form + "b2", strings.TrimSuffix(fields("b2", "1"), "--b2--\r\n"), false},
		{"text after the last part", form + "a1", fields("a1", "1") + "x", form + "b2", fields("b2", "1") + "x", false},
		{"text before the first part", form + "a1", "x" + fields("a1", "1"), form + "b2", "x" + fields("b2", "1"), false},
		{"no part", form + "a1", "--a1--", form + "b2", "--b2--", false},
		{"parts that run together", form + "a1", fields("a1", "1\r\n9:x"), form + "b2", fields("b2", "1"), false},
	} {
		print := func(kind, body string) string {
			r := httptest.NewRequest("POST", "/pay", nil)
			r.Header.Set("Content-Type", kind)
			return idempotency.RequestFingerprint(r, []byte(body))
		}
		if same := print(c.kind, c.body) == print(c.otherKind, c.otherBody); same != c.same {
			t.Errorf("%s: %s and %s are the same payload: %t, want %t", c.name, c.kind, c.otherKind, same, c.same)
		}
	}
}
