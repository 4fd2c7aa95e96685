package importer_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/importer"
)

// kubectl takes the manifest from a template whose quotes got lost; so do people.
func TestAManifestThatCannotBeReadSaysWhereAndWhy(t *testing.T) {
	const head = "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: tick\nspec:\n"
	for spec, want := range map[string]string{
		"  schedule: */5 * * * *\n":                  `cron.yaml:6:13: the schedule needs quotes, because * and @ have a meaning of their own in YAML; write schedule: "*/5 * * * *"`,
		"  schedule: */5,7 * * * 1-5 # in the day\n": `write schedule: "*/5,7 * * * 1-5"`,
		"  schedule: @daily\n":                       `cron.yaml:6:13: the schedule needs quotes`,
		"  suspend: *no\n":                           "cron.yaml:6: YAML aliases are not read",
		"  suspend: [\n":                             "not YAML",
	} {
		for _, text := range []string{head + spec, strings.ReplaceAll(head+spec, "\n", "\r\n")} {
			_, err := importer.Import(importer.Kubernetes, []importer.File{{Name: "cron.yaml", Data: []byte(text)}}, importer.Options{Name: "acme"})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", spec, err)
			}
		}
	}
}
