package notify_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// A registry knows the causes of incidents as texts, since package jobs does not import the ledger.
func TestAChannelSelectsEveryCauseAndNoOther(t *testing.T) {
	var all []string
	for _, cause := range ledger.IncidentCauses {
		if err := registryWith(string(cause)); err != nil {
			t.Errorf("on: %s: %s", cause, err)
		}
		if text := (ledger.Incident{Cause: cause}).Problem(); text == string(cause) {
			t.Errorf("the cause %s has no words for a message", cause)
		}
		all = append(all, string(cause))
	}
	err := registryWith("another")
	if want := "valid values: " + strings.Join(all, ", ") + " ["; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

// registryWith returns the error of a registry with a channel for a cause.
func registryWith(cause string) error {
	_, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Channel{Name: "ops", Type: jobs.ChannelSlack, URLEnv: "SLACK_URL", On: []string{cause}})
	return err
}
