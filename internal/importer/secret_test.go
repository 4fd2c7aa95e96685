package importer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/importer"
)

// A key in a URL keeps its entry out of the registry, and is in no message; names of
// things and words are no keys.
func TestKeysInAPathAreNotCopied(t *testing.T) {
	for path, segment := range map[string]string{
		"hooks.example.com/services/T0/B0/4f9c1d7e8a2b3c4d5e6f7a8b":                 "segment 4",
		"api.example.com/4F9C1D7E8A2B3C4D5E6F7A8B/sync":                             "segment 1",
		"api.example.com/integration/d41d8cd98f00b204e9800998ecf8427e/enqueue":      "segment 2",
		"chat.example.com/hooks/3y6kz1jd5pgx7m9b8qn4tw6f1r":                         "segment 2",
		"api.example.com/in/3y6kz1jd5pgx7m9b8qn4tw6f1r":                             "segment 2",
		"hook.example.com/k2j4h5g6f7d8s9a1":                                         "segment 1",
		"api.example.com/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/send":      "segment 1",
		"hc-ping.com/8f14e45f-ceea-467f-a8d3-4b1d1f3a9c2e":                          "segment 1",
		"api.example.com/webhookb2/8f14e45f-ceea-467f-a8d3-4b1d1f3a9c2e@acme/x":     "segment 2",
		"api.example.com/v1/\\%34f9c1d7e8a2b3c4d5e6f7a8b":                           "segment 2",
		"api.example.com/v1/tenants/8f14e45f-ceea-467f-a8d3-4b1d1f3a9c2e/run":       "",
		"api.example.com/v1/shipping/8f14e45f-ceea-467f-a8d3-4b1d1f3a9c2e":          "",
		"api.example.com/v1/importcustomers2024v2/generatemonthlyreport2024":        "",
		"api.example.com/v1/accounts/12345678901234567890123/release-locks-2024-11": "",
		"hooks.example.com/v1/webhooks/order-created":                               "",
		"hooks.zapier.com/hooks/catch/1234567/b2c8qxo/":                             "segment 4",
		"hooks.zapier.com/hooks/catch/1234567/bcdqxos":                              "segment 4",
		"hook.eu1.example.com/a1b2c3d":                                              "segment 1",
		"hook.example.com/k2j4h5g6f7d8s9":                                           "segment 1",
		"hook.example.com/AbCdEfGh":                                                 "segment 1",
		"hooks.example.com/x/QwErTyUiOpAsDf":                                        "segment 2",
		"hooks.example.com/services/T01ABCDEF/B0/x":                                 "segment 2",
		"hooks.example.com/OrderCreated/orderCreated/created/STATUS":                "",
		"hooks.example.com/v2/tenants/12345/jobs":                                   "",
		"heartbeat.example.com/m123456789-0a1b2c3d4e5f60718293a4b5c6d7e8f901234567": "segment 1",
		"nosnch.in/c2354d53d2":                                                      "segment 1",
		"api.example.com/v1/report2024":                                             "",
		"api.example.com/accounts/1234567/refresh":                                  "",
	} {
		line := "* * * * * curl -X POST https://" + path + "\n"
		r, err := importer.Import(importer.Crontab, []importer.File{{Name: "crontab", Data: []byte(line)}}, importer.Options{Name: "acme"})
		if segment == "" {
			if err != nil || r.Jobs != 1 {
				t.Errorf("%s: %v %+v", path, err, r.Differences)
			}
			continue
		}
		got := text(r)
		if !errors.Is(err, importer.ErrNothing) || !strings.Contains(got, segment+" of the URL's path looks like a secret") {
			t.Errorf("%s: %v\n%s", path, err, got)
		}
		for _, part := range strings.Split(path, "/")[1:] {
			if len(part) > 6 && hasKey(part) && strings.Contains(got, part) {
				t.Errorf("%s: the result repeats it:\n%s", path, got)
			}
		}
	}
}

// A key in digits of one case is known in a query and a body, too.
func TestKeysInAQueryOrABodyAreNotCopied(t *testing.T) {
	for _, args := range []string{`"https://api.example.com/v1?id=4f9c1d7e8a2b3c4d5e6f7a8b"`, `--json '{"id":"4f9c1d7e8a2b3c4d5e6f7a8b"}' https://api.example.com/v1`} {
		line := "* * * * * curl -X POST " + args + "\n"
		r, err := importer.Import(importer.Crontab, []importer.File{{Name: "crontab", Data: []byte(line)}}, importer.Options{Name: "acme"})
		if got := text(r); !errors.Is(err, importer.ErrNothing) || !strings.Contains(got, `"id" looks like a secret`) || strings.Contains(got, "4f9c") {
			t.Errorf("%s: %v\n%s", args, err, got)
		}
	}
}

// Names that end in key, and those of licenses and PINs, are of secrets, also where the query is
// not as a form has it.
func TestNamesOfSecretsAreKnown(t *testing.T) {
	for args, name := range map[string]string{
		`"https://api.example.com/v1?cron_key=planted"`:                                         "cron_key",
		`"https://api.example.com/v1?routingKey=planted"`:                                       "routingKey",
		`"https://api.example.com/v1?license=planted"`:                                          "license",
		`"https://api.example.com/v1?token=planted;x=1"`:                                        "(not shown)",
		`"https://api.example.com/v1?monkey=1&pinned=1&keyboard=us"`:                            "",
		`--json '{"pin":"planted"}' https://api.example.com/v1`:                                 "pin",
		`--json '{"pin":9381}' https://api.example.com/v1`:                                      "pin",
		`--json '{"a":{"tokens":["",93817]}}' https://api.example.com/v1`:                       "tokens",
		`--json '{"session":30,"auth":true,"key":null,"tokens":[]}' https://api.example.com/v1`: "",
		`--json '{"id":"m1-0a1b2c3d4e5f60718293a4b5planted"}' https://api.example.com/v1`:       "id",
	} {
		r, err := importCrontab(t, importer.Options{}, "* * * * * curl "+args)
		got := text(r)
		if refused := strings.Contains(got, `"`+name+`" looks like a secret`); refused != (name != "") || (err == nil) == refused || strings.Contains(got, "planted") {
			t.Errorf("%s: %v\n%s", args, err, got)
		}
	}
}

// hasKey reports whether a part of a path is a key and not a word that a message may have.
func hasKey(part string) bool {
	return strings.ContainsAny(part, "0123456789") || strings.ToLower(part) != part
}

// A variable whose name or value is a secret's is in no path, query, body or header of the registry.
func TestSecretsInVariablesAreNotCopied(t *testing.T) {
	const secrets = "API_TOKEN=hunter2\nDB_PASSWORD=hunter2\nID=pre4f9c1d7e8a2b3c4d5e6hunter2\nTIER=gold\n* * * * * "
	for command, want := range map[string]string{
		`curl "https://a.example.com/v1?x=$API_TOKEN"`:                         "the URL is made of variables, or of one that looks like a secret",
		`curl https://a.example.com/v1/$API_TOKEN/x`:                           "the URL is made of variables",
		`curl https://a.example.com/v1/x-$ID`:                                  "the URL is made of variables",
		`PASSWORD=hunter2 sh -c 'curl "https://a.example.com/v1?q=$PASSWORD"'`: "the URL is made of variables",
		`X=$API_TOKEN sh -c 'curl "https://a.example.com/v1?q=$X"'`:            "sets a variable to a value that",
		`curl --json "{\"x\":\"$DB_PASSWORD\"}" https://a.example.com/v1`:      "the body is made of variables, or of one that looks like a secret",
		`curl -G -d "x=$DB_PASSWORD" https://a.example.com/v1`:                 "the body is made of variables",
		`curl -H "Accept: $API_TOKEN" https://a.example.com/v1`:                "the header Accept is not taken over",
		`curl -H "X-Key: $API_TOKEN" $API_TOKEN/v1`:                            "urlEnv: API_TOKEN",
		`curl "https://a.example.com/v1?x=$TIER"`:                              "/v1?x=gold",
	} {
		r, err := importCrontab(t, importer.Options{}, secrets+command)
		if got := text(r); !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %v, want %q\n%s", command, err, want, got)
		}
	}
	got, err := importCronJob(t, cronJob("", "", `command: [curl, "https://a.example.com/v1?x=$(API_TOKEN)"], env: [{name: API_TOKEN, value: hunter2}]`))
	if !errors.Is(err, importer.ErrNothing) || strings.Contains(got, "hunter2") {
		t.Errorf("of a CronJob: %v\n%s", err, got)
	}
}
