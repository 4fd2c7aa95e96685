package registry

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/importer"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs"
)

type importFlags struct {
	name, timezone, to string
	system             bool
}

func (a *app) importCommand() *cobra.Command {
	c := command.Group("import", "Make a registry from a crontab or the jobs of another scheduler")
	c.Long = `import reads the schedules and HTTP calls of another scheduler and prints a
commented registry. Standard error gets a table of what will differ, and of what
could not be taken over and why. docs/import.md lists what each source becomes.

Secrets are not copied: the registry refers to environment variables, and the
table names them.`
	for _, i := range importer.Importers {
		c.AddCommand(a.importSource(i))
	}
	return c
}

func (a *app) importSource(i importer.Importer) *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:     string(i.Source) + " FILE...",
		Short:   "Import " + i.Files,
		Example: i.Example,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(_ *cobra.Command, files []string) error { return a.importFiles(i.Source, files, f) },
	}
	c.Flags().StringVar(&f.name, "name", "imported", "the registry's `name`, which identifies the caller of every key")
	c.Flags().StringVar(&f.to, "to", "", "write the registry into this new `file`")
	if i.Zone {
		c.Flags().StringVar(&f.timezone, "timezone", "UTC", "the `zone` of schedules for which the source states none")
	}
	if i.Source == importer.Crontab {
		c.Flags().BoolVar(&f.system, "system", false, "lines have a user after the schedule; default if every FILE is "+
			"/etc/crontab or in /etc/cron.d")
	}
	return c
}

// importFiles prints the registry to standard output and what differs from the source to standard error. A source of
// which nothing could be imported is an error, after its differences say why.
func (a *app) importFiles(source importer.Source, names []string, f importFlags) error {
	o := importer.Options{Name: f.name, Timezone: f.timezone, System: f.system || source == importer.Crontab && ofSystem(names)}
	if _, err := jobs.NewRegistry(jobs.Name(f.name)); err != nil {
		return command.Usage("%w", err)
	}
	var files []importer.File
	for _, name := range names {
		file, err := a.sourceFile(name)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	result, err := importer.Import(source, files, o)
	if err != nil && !errors.Is(err, importer.ErrNothing) {
		return command.Usage("%w", err)
	}
	if err == nil {
		err = a.writeImport(result, f.to)
	} else if len(result.Differences) == 0 {
		err = fmt.Errorf("%w: no file has an entry of %s", err, source)
	}
	if a.Encoded() {
		return err
	}
	shown := a.printDifferences(result)
	if err == nil {
		err = shown
	}
	return err
}

// ofSystem reports whether all files are crontabs that have a user in each line.
func ofSystem(names []string) bool {
	for _, name := range names {
		if name != "/etc/crontab" && filepath.Dir(name) != "/etc/cron.d" {
			return false
		}
	}
	return true
}

// sourceFile reads a file, or standard input for "-". It reads one byte more than is accepted, so that a file that is
// too large is refused and not cut.
func (a *app) sourceFile(name string) (importer.File, error) {
	in := a.In
	if name == "-" {
		name = "stdin"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return importer.File{}, command.Usage("%w", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, importer.MaxFileSize+1))
	if err != nil {
		return importer.File{}, command.Usage("%w", err)
	}
	return importer.File{Name: filepath.Base(name), Data: data}, nil
}

// writeImport prints the registry, or writes a file that did not exist.
func (a *app) writeImport(result importer.Result, to string) error {
	if to != "" {
		if err := writeNew(to, result.Registry); err != nil {
			return err
		}
	}
	switch {
	case a.Encoded():
		return a.Encode(result)
	case to == "":
		_, err := io.WriteString(a.Out, result.Registry)
		return err
	}
	return nil
}

// writeNew writes a file and never replaces one.
func writeNew(name, text string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return command.Usage("%s exists and is not overwritten; choose another file, or remove it first", name)
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// printDifferences prints what differs from the source, and what to do next, to standard error: standard output is the
// registry.
func (a *app) printDifferences(r importer.Result) error {
	if len(r.Differences) > 0 {
		width := 0
		if !a.Wide {
			width = terminal.Width(a.Err)
		}
		t := terminal.NewTable(a.Err, width, "FROM", "JOB", "ASPECT", "DIFFERENCE")
		for _, d := range folded(r.Differences) {
			t.Row(d.Place(), d.Job, string(d.Aspect), d.Text)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(a.Err)
	}
	if r.Jobs == 0 {
		return nil
	}
	next := []string{fmt.Sprintf("imported: %d; not imported: %d", r.Jobs, r.Refused),
		"every call now carries its run ID as Idempotency-Key and is made at least once: the target must apply each key once (docs/targets.md)",
		"next: cronce check --no-env --config FILE"}
	_, err := fmt.Fprintln(a.Err, strings.Join(next, "\n"))
	return err
}

// folded joins differences that several jobs have into one, with the number of the jobs.
func folded(all []importer.Difference) (list []importer.Difference) {
	type fact struct {
		file, text string
		aspect     importer.Aspect
	}
	at, jobs := map[fact]int{}, map[fact]int{}
	for _, d := range all {
		f := fact{d.File, d.Text, d.Aspect}
		if jobs[f]++; d.Job == "" || jobs[f] == 1 {
			at[f], list = len(list), append(list, d)
			continue
		}
		first := &list[at[f]]
		first.Line, first.Job = 0, plural.Of(jobs[f], "job")
	}
	return list
}
