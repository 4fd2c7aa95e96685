package command

import (
	"fmt"
	"os"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs"
)

// PrintProblems prints a line for each problem, to be found by editors. On a terminal
// the line of the file follows, with a caret below the place.
func (env *Env) PrintProblems(problems jobs.Problems) {
	files := map[string][]string{}
	for _, p := range problems {
		fmt.Fprintln(env.Err, plaintext.Lines(p.Error()))
		if p.Line == 0 || !terminal.Is(env.Err) {
			continue
		}
		lines, known := files[p.File]
		if !known {
			text, err := os.ReadFile(p.File)
			if err == nil && len(text) <= jobs.MaxFileSize {
				lines = strings.Split(string(text), "\n")
			}
			files[p.File] = lines
		}
		if p.Line <= len(lines) {
			text, mark := caret(lines[p.Line-1], p.Column, terminal.Width(env.Err))
			if env.Colored(env.Err) {
				mark = terminal.Red.Paint(mark)
			}
			fmt.Fprintf(env.Err, "%s\n%s\n", text, mark)
		}
	}
}

// caret returns a line of a file as it can be shown, and the line below it with a caret at the column. If the line is
// longer than the terminal is wide, it returns the part around the column.
func caret(line string, column, width int) (text, mark string) {
	const indent = "    "
	shown := []rune(plaintext.Line(strings.TrimRight(line, "\r")))
	column = min(max(column, 1), len(shown)+1)
	if room := width - len(indent); width > 0 && len(shown) > room && room > 0 {
		from := min(max(0, column-1-room/2), len(shown)-room)
		shown, column = shown[from:from+room], column-from
		for terminal.Columns(string(shown)) > room { // wide characters
			if len(shown) > column {
				shown = shown[:len(shown)-1]
			} else {
				shown, column = shown[1:], column-1
			}
		}
	}
	before := string(shown[:column-1])
	return indent + string(shown), indent + strings.Repeat(" ", terminal.Columns(before)) + "^"
}
