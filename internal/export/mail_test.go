package export_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/export"
	"github.com/cronce/cronce/jobs"
)

// A function sends no email, but it reads the registry, which names the variable of the
// mail server: the function has to have it.
func TestAFunctionHasTheMailServersVariable(t *testing.T) {
	for _, tc := range []struct {
		smtp    jobs.Secret
		refused string
	}{
		{jobs.Secret{Env: "SMTP_URL"}, ""},
		{jobs.Secret{File: "/run/secrets/smtp"}, `channel "mail" takes a secret from`},
	} {
		mail := jobs.Channel{Name: "mail", Type: jobs.ChannelEmail, SMTP: tc.smtp, To: []string{"ops@example.com"}}
		reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, job("a", "0 0 * * *"), mail)
		if err != nil {
			t.Fatal(err)
		}
		template, err := export.CloudFormation(reg, export.Options{Secrets: export.SSM, SecretNames: "/acme/"})
		if tc.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%v: %v", tc.smtp, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := template.Write(&text); err != nil || !strings.Contains(text.String(), "/acme/SMTP_URL") {
			t.Errorf("%v; the function has no SMTP_URL:\n%s", err, text.String())
		}
	}
}
