package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// EnvVariable annotates the flags that have an environment variable.
const EnvVariable = "cronce_env"

// FromEnv gives flags their environment variables, which stand for flags that
// are not given: CRONCE_ and the flag's name.
func FromEnv(flags *pflag.FlagSet, names ...string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(names, f.Name) {
			variable := "CRONCE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			if f.Annotations == nil {
				f.Annotations = map[string][]string{}
			}
			f.Annotations[EnvVariable] = []string{variable}
			f.Usage += " (env " + variable + ")"
		}
	})
}

// readEnv sets the flags of the command that are not given from their variables.
// A variable that is set and empty is refused like an empty flag.
func (env *Env) readEnv(c *cobra.Command) (err error) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		variable := f.Annotations[EnvVariable]
		if len(variable) == 0 || f.Changed || err != nil {
			return
		}
		text, set := env.Lookup(variable[0])
		_, mayBeEmpty := f.Annotations[MayBeEmpty]
		switch {
		case !set:
		case strings.TrimSpace(text) == "" && !mayBeEmpty:
			err = Usage("the variable %s is empty; give it a value, or unset it for the default of --%s", variable[0], f.Name)
		case f.Value.Set(text) != nil:
			err = Usage("invalid value %q of the variable %s; it sets --%s, a %s", text, variable[0], f.Name, f.Value.Type())
		}
	})
	return err
}
