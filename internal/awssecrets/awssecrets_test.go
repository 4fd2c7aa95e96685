package awssecrets_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/awssecrets"
)

func TestParse(t *testing.T) {
	for value, want := range map[string]string{
		"plain":                            "",
		`{"secretsManager":"arn:a:b"}`:     "Secrets Manager secret arn:a:b",
		`{ "ssm": "/acme/token" }`:         "SSM parameter /acme/token",
		`{"ssm":"a","secretsManager":"b"}`: "error",
		`{"vault":"hidden"}`:               "error",
		`{}`:                               "error",
		`{"ssm":"hidden"`:                  "error",
		`{"ssm":"a"}{"ssm":"b"}`:           "error",
	} {
		ref, ok, err := awssecrets.Parse(value)
		switch {
		case want == "" && (ok || err != nil), want == "error" && (err == nil || strings.Contains(err.Error(), "hidden")),
			want != "" && want != "error" && (err != nil || !ok || ref.String() != want):
			t.Errorf("%s: %v, %v, %v", value, ref, ok, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"ssm":"/acme/token"}`)
	f.Add(`{"secretsManager":"arn:aws:secretsmanager:eu-west-1:1:secret:a"}`)
	f.Fuzz(func(t *testing.T, value string) {
		ref, ok, err := awssecrets.Parse(value)
		if ok && err == nil && (ref.SSM == "") == (ref.SecretsManager == "") {
			t.Errorf("%q: %+v", value, ref)
		}
	})
}

// aws answers as the two APIs do.
func aws(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Amz-Security-Token") != "session" || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/") {
			t.Errorf("headers %v", r.Header)
		}
		switch r.Header.Get("X-Amz-Target") + string(body) {
		case `secretsmanager.GetSecretValue{"SecretId":"arn:aws:secretsmanager:eu-west-1:1:secret:a"}`:
			fmt.Fprint(w, `{"Name":"a","SecretString":"from sm"}`)
		case `secretsmanager.GetSecretValue{"SecretId":"binary"}`:
			fmt.Fprint(w, `{"Name":"a","SecretBinary":"AAAA"}`)
		case `AmazonSSM.GetParameter{"Name":"/acme/token","WithDecryption":true}`:
			fmt.Fprint(w, `{"Parameter":{"Name":"/acme/token","Value":"from ssm"}}`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"com.amazonaws#AccessDeniedException","Message":"not authorized"}`)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestGet(t *testing.T) {
	server := aws(t)
	env := map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_SESSION_TOKEN": "session",
		"AWS_ENDPOINT_URL_SECRETS_MANAGER": server.URL, "AWS_ENDPOINT_URL_SSM": server.URL,
	}
	c := &awssecrets.Client{HTTP: server.Client(), Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	for _, tc := range []struct {
		ref        awssecrets.Reference
		want, fail string
	}{
		{ref: awssecrets.Reference{SecretsManager: "arn:aws:secretsmanager:eu-west-1:1:secret:a"}, want: "from sm"},
		{ref: awssecrets.Reference{SSM: "/acme/token"}, want: "from ssm"},
		{ref: awssecrets.Reference{SecretsManager: "binary"}, fail: "no text"},
		{ref: awssecrets.Reference{SSM: "/other"}, fail: "SSM parameter /other: AWS answered HTTP 400 AccessDeniedException: not authorized"},
	} {
		got, err := c.Get(t.Context(), tc.ref)
		if got != tc.want || (err == nil) != (tc.fail == "") || err != nil && !strings.Contains(err.Error(), tc.fail) {
			t.Errorf("%s: %q, %v", tc.ref, got, err)
		}
	}
	delete(env, "AWS_REGION")
	if _, err := c.Get(t.Context(), awssecrets.Reference{SSM: "/acme/token"}); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: %v", err)
	}
}
