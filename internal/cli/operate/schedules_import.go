package operate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/internal/terminal"
)

// maxImportLine bounds a line of NDJSON: data has 16 KiB at most.
const maxImportLine = 64 << 10

func (a *app) schedulesImportCommand() *cobra.Command {
	var f putFlags
	c := &cobra.Command{
		Use:   "import TEMPLATE [FILE]",
		Short: "Make, change and delete schedules from lines of JSON",
		Long: `import reads a line of JSON for each schedule, from FILE or standard input:

  {"key":"acme","schedule":"0 7 * * *","timezone":"Europe/Berlin","data":{"format":"pdf"}}
  {"key":"old-customer","delete":true}

A refused line does not affect the others. An interrupted import is safe to
repeat.

Exit 0: every line was taken. Exit 1: lines were refused.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			in := a.In
			if len(args) == 2 && args[1] != "-" {
				file, err := os.Open(args[1])
				if err != nil {
					return command.Usage("%w", err)
				}
				defer file.Close()
				in = file
			}
			o, done, err := a.Operator(c.Context(), a.OpenLedger)
			if err != nil {
				return err
			}
			defer done()
			i := &scheduleImport{app: a, c: c, o: o, template: args[0], f: f, counts: tally{}, line: terminal.NewLine(a.Err)}
			return i.run(in)
		},
	}
	f.reasoned(c, a)
	return c
}

// scheduleImport is an import under way. It sends the lines in parts, each in one transaction, in
// their order: a key that comes twice gets what its last line says.
type scheduleImport struct {
	*app
	c        *cobra.Command
	o        backend.Operator
	template string
	f        putFlags
	counts   tally
	line     *terminal.Line

	part    []operations.ScheduleChange
	numbers []int // of the lines of part
	keys    map[string]bool
}

// run sends all lines and prints the counts. Lines that were taken before an error stay taken: repeating the import
// does no harm, as the same change again changes nothing.
func (i *scheduleImport) run(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxImportLine)
	number := 1
	for ; lines.Scan(); number++ {
		if err := i.add(number, bytes.TrimSpace(lines.Bytes())); err != nil {
			return err
		}
	}
	if err := i.send(); err != nil {
		return err
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d has more than %d bytes, the maximum, and ended the import; %s before that", number, maxImportLine, i.counts)
	case err != nil:
		return fmt.Errorf("read line %d: %w; %s before that: run it again for the rest", number, err, i.counts)
	}
	i.line.Clear()
	if i.Encoded() {
		if err := i.Encode(i.counts.json()); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(i.Out, i.counts)
	}
	if i.counts[""] > 0 {
		return command.ExitWith(command.ExitFailed)
	}
	return nil
}

// add takes a line, and sends the lines before it when they are as many as fit, or one has
// its key.
func (i *scheduleImport) add(number int, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	var change operations.ScheduleChange
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&change)
	if err == nil && d.More() {
		err = errors.New("it has more than one")
	}
	if err != nil {
		err = fmt.Errorf("the line is not a schedule as a JSON object: %w", err)
		if failed := i.send(); failed != nil { // so that lines are told of in their order
			return failed
		}
		i.refuse(number, err.Error())
		return nil
	}
	// The changes of one transaction have different keys.
	if len(i.part) == operations.MaxScheduleChanges || i.keys[change.Key] {
		if err := i.send(); err != nil {
			return err
		}
	}
	if i.keys == nil {
		i.keys = map[string]bool{}
	}
	i.part, i.numbers, i.keys[change.Key] = append(i.part, change), append(i.numbers, number), true
	return nil
}

// send sends the lines at hand in one transaction, and counts what became of each.
func (i *scheduleImport) send() error {
	if len(i.part) == 0 {
		return nil
	}
	outcomes, err := i.o.ChangeSchedules(i.c.Context(), i.template, i.part, i.f.actor())
	if err != nil {
		i.line.Clear()
		return fmt.Errorf("%w; %s before that: run it again for the rest", err, i.counts)
	}
	for k, out := range outcomes {
		if out.Err != nil {
			i.refuse(i.numbers[k], out.Err.Error())
		} else {
			i.counts[out.Effect]++
		}
	}
	i.line.Show(i.counts.String())
	i.part, i.numbers, i.keys = nil, nil, nil
	return nil
}

// refuse prints why a line was not taken. The import goes on.
func (i *scheduleImport) refuse(number int, why string) {
	i.counts[""]++
	i.line.Clear()
	fmt.Fprintf(i.Err, "line %d: %s\n", number, plaintext.Line(why))
}

// json returns the counts with the refused lines under a name.
func (t tally) json() map[string]int {
	out := map[string]int{"refused": t[""]}
	for effect, n := range t {
		if effect != "" {
			out[string(effect)] = n
		}
	}
	return out
}
