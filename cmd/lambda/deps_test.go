package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Each cold start loads what is linked in.
func TestWhatTheFunctionDoesNotNeedIsNotLinkedIn(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "lambda.norpc,nopgxregisterdefaulttypes,nethttpomithttp2", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for ban, why := range map[string]string{
		"modernc.org/":                           "SQLite is refused by name",
		"github.com/go-sql-driver/":              "a Lambda purges no MySQL key store",
		"github.com/pressly/goose/":              "the tables are made by cronce migrate up (import ledger/postgres/migrate there)",
		"github.com/go-co-op/gocron/":            "the platform is the alarm clock",
		"github.com/spf13/cobra":                 "there is no command line",
		"github.com/prometheus/":                 "a Lambda is not scraped",
		"go.opentelemetry.io/":                   "nothing exports traces here",
		"github.com/nats-io/":                    "events come from AWS",
		"text/template":                          "it brings reflection over all methods",
		"net/rpc":                                "lambda.norpc leaves it out",
		"time/tzdata":                            "jobs has the zones",
		"github.com/cronce/cronce/ledger/sqlite": "SQLite is refused by name",
	} {
		for _, dep := range strings.Fields(string(out)) {
			if strings.HasPrefix(dep, ban) {
				t.Errorf("%s is linked in: %s", dep, why)
			}
		}
	}
}
