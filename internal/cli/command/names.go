package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/suggest"
)

// MayBeEmpty annotates the flags whose empty value has a meaning.
const MayBeEmpty = "cronce_may_be_empty"

// refuseEmpty refuses empty flags and arguments: most come from a variable that
// is not set, and would select everything. A shell that asks for completions after
// a space has begun an empty word.
func refuseEmpty(c *cobra.Command, args []string) error {
	if c.Name() == cobra.ShellCompRequestCmd {
		return nil
	}
	for _, arg := range args {
		if strings.TrimSpace(arg) == "" {
			return Usage("an argument of \"%s\" is empty; give it a value (is the variable that it comes from set?)", c.CommandPath())
		}
	}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if _, allowed := f.Annotations[MayBeEmpty]; !allowed && err == nil && emptyValue(f.Value) {
			err = Usage("--%s is empty; give it a value (is the variable that it comes from set?)", f.Name)
		}
	})
	return err
}

// emptyValue reports whether a flag is empty, or a list that has an empty element.
func emptyValue(v pflag.Value) bool {
	list, ok := v.(pflag.SliceValue)
	if !ok {
		return strings.TrimSpace(v.String()) == ""
	}
	values := list.GetSlice()
	return len(values) == 0 || slices.ContainsFunc(values, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// Unknown returns the usage error about a name that is not known, with the nearest name.
func Unknown(kind, name string, known []string, hint string) error {
	return Usage("unknown %s %q%s %s", kind, name, cmp.Or(suggest.DidYouMean(name, known), ";"), hint)
}

// FlagError returns the usage error of a flag that the library refuses. It suggests a name if the flag's name is
// mistyped, and says which values are accepted if the value has the wrong type.
func FlagError(c *cobra.Command, err error) error {
	if invalid, is := errors.AsType[*pflag.InvalidValueError](err); is {
		f := invalid.GetFlag()
		if accepted := acceptedTypes[f.Value.Type()]; accepted != "" {
			return Usage("invalid --%s %q; use %s", f.Name, invalid.GetValue(), accepted)
		}
	}
	return Usage("%w%s run \"%s --help\" for its flags", err, nearestFlag(c, err), c.CommandPath())
}

// acceptedTypes are the types of flags whose errors come from the standard library.
var acceptedTypes = map[string]string{
	"int": "a whole number", "int64": "a whole number", "bool": "true or false", "duration": "a duration such as 30s", "float64": "a number",
}

// nearestFlag suggests the flag that a mistyped one is nearest to.
func nearestFlag(c *cobra.Command, err error) string {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return ";"
	}
	written := cmp.Or(missing.GetSpecifiedShortnames(), missing.GetSpecifiedName()) // -limit is meant as --limit
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	suggestion := suggest.DidYouMean(written, known)
	return cmp.Or(strings.Replace(suggestion, `"`, `"--`, 1), ";")
}

// KnownCommand checks the arguments of a command that only has commands below it: an argument there is a mistyped
// command.
func KnownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return Unknown("command", args[0], names, fmt.Sprintf("run \"%s --help\" for the commands", c.CommandPath()))
}

// AllOf returns those of the known names that are given; an unknown one is an error.
func AllOf[T ~string](kind string, given []string, known []T) (list []T, err error) {
	for _, name := range given {
		one, err := OneOf(kind, name, known)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// OneOf returns the known name that is equal to the given one.
func OneOf[T ~string](kind, name string, known []T) (T, error) {
	if slices.Contains(known, T(name)) {
		return T(name), nil
	}
	names := operations.Texts(known)
	return "", Unknown(kind, name, names, "valid "+kind+"s: "+strings.Join(names, ", "))
}
