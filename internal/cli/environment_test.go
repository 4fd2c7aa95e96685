package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cronce/cronce/internal/cli"
	"github.com/cronce/cronce/internal/cli/command"
)

// documented are the rows of the table of serve's flags in docs/operations.md:
// flag, variable, default.
var documented = regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| `([A-Z_]+)` \\| ([^|]+) \\|")

// Every flag that serve heeds has a variable, and the manual has both with the
// default that the binary has.
func TestEveryFlagOfServeHasADocumentedVariable(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, row := range documented.FindAllStringSubmatch(string(manual), -1) {
		rows[row[1]] = row[2:]
	}
	serve, _, err := cli.Root(&command.Env{Lookup: os.LookupEnv}).Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	unheeded := map[string]bool{"json": true, "output": true, "wide": true, "color": true, "utc": true, "local": true, "help": true, "server": true} // they are about what other commands ask and print
	flags := 0
	each := func(f *pflag.Flag) {
		if unheeded[f.Name] {
			return
		}
		flags++
		variable := "CRONCE_DATABASE_URL"
		if f.Name != "db" {
			annotation := f.Annotations[command.EnvVariable]
			if len(annotation) == 0 {
				t.Errorf("--%s has no variable", f.Name)
				return
			}
			variable = annotation[0]
		}
		row, ok := rows[f.Name]
		if !ok {
			t.Errorf("docs/operations.md has no row for --%s", f.Name)
			return
		}
		value := strings.Trim(row[1], "`")
		same := value == f.DefValue || value == strings.TrimSuffix(f.DefValue, "0s") || f.Name == "db" && value == "sqlite:cronce.db" || (f.DefValue == "" || f.DefValue == "[]") && value == "none"
		if row[0] != variable || !same {
			t.Errorf("docs/operations.md says %s, default %s, of --%s, whose variable is %s and default %q", row[0], row[1], f.Name, variable, f.DefValue)
		}
	}
	serve.Flags().VisitAll(each)
	serve.InheritedFlags().VisitAll(each)
	if len(rows) != flags {
		t.Errorf("docs/operations.md has %d flags, serve %d", len(rows), flags)
	}
}

func TestVariablesStandForFlags(t *testing.T) {
	t.Parallel()
	for variable, value := range map[string]string{
		"CRONCE_MAX_IN_FLIGHT": "0", "CRONCE_LEASE": "10ms", "CRONCE_GRACE": "0s", "CRONCE_LEDGER_WAIT": "-1s",
		"CRONCE_LISTEN": "nonsense", "CRONCE_LOG_FORMAT": "xml", "CRONCE_LOG_LEVEL": "loud",
	} {
		code, _, errs := invoke(t, map[string]string{variable: value}, "serve")
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "CRONCE_"), "_", "-"))
		if code != exitUsage || !strings.Contains(errs, value) && !strings.Contains(errs, flag) {
			t.Errorf("%s=%s: exit %d: %s", variable, value, code, errs)
		}
	}
	for variable, value := range map[string]string{"CRONCE_MAX_IN_FLIGHT": "many", "CRONCE_LEASE": "30", "CRONCE_WATCH": "perhaps", "CRONCE_NO_MIGRATE": "no"} {
		if code, _, errs := invoke(t, map[string]string{variable: value}, "serve"); code != exitUsage || !strings.Contains(errs, variable) {
			t.Errorf("%s=%s: exit %d: %s", variable, value, code, errs)
		}
	}
	for _, variable := range []string{"CRONCE_CONFIG", "CRONCE_GRACE", "CRONCE_WATCH", "CRONCE_LOG_LEVEL"} {
		if code, _, errs := invoke(t, map[string]string{variable: " "}, "serve"); code != exitUsage || !strings.Contains(errs, variable+" is empty") {
			t.Errorf("%s, empty: exit %d: %s", variable, code, errs)
		}
	}
	// A flag comes before its variable; --listen may be empty either way.
	d := newDesk(t, "nonsense: [")
	for _, env := range []map[string]string{{"CRONCE_GRACE": "0s", "CRONCE_LISTEN": ""}} {
		for name, value := range env {
			d.env[name] = value
		}
		if code, _, errs := d.run("serve", "--grace", "5s"); code != exitUsage || strings.Contains(errs, "--grace") || strings.Contains(errs, "LISTEN") {
			t.Errorf("exit %d: %s", code, errs)
		}
	}
}
