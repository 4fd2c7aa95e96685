package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// envVariable annotates the flags that have an environment variable.
const envVariable = "cronce_env"

// fromEnv gives flags their environment variables, which stand for flags that
// are not given: CRONCE_ and the flag's name.
func fromEnv(flags *pflag.FlagSet, names ...string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(names, f.Name) {
			variable := "CRONCE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			if f.Annotations == nil {
				f.Annotations = map[string][]string{}
			}
			f.Annotations[envVariable] = []string{variable}
			f.Usage += " (env " + variable + ")"
		}
	})
}

// readEnv sets the flags of the command that are not given from their variables.
// A variable that is set and empty is refused like an empty flag.
func (a *app) readEnv(c *cobra.Command) (err error) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		variable := f.Annotations[envVariable]
		if len(variable) == 0 || f.Changed || err != nil {
			return
		}
		text, set := a.lookup(variable[0])
		_, mayBeEmpty := f.Annotations[mayBeEmpty]
		switch {
		case !set:
		case strings.TrimSpace(text) == "" && !mayBeEmpty:
			err = usage("the variable %s is empty; give it a value, or unset it for the default of --%s", variable[0], f.Name)
		case f.Value.Set(text) != nil:
			err = usage("invalid value %q of the variable %s; it stands for --%s, a %s", text, variable[0], f.Name, f.Value.Type())
		}
	})
	return err
}
