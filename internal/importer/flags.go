package importer

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// flags reads the options of curl and wget: long ones with = or in two words, short
// ones in clusters.
type flags struct {
	words []word
	options
	accept func(name string, value word) error
	other  func(word) error // what is not an option
}

// options are those that a command has.
type options struct {
	valued map[string]bool // by its long name, whether an option has a value
	short  map[byte]string // the long name of a short one
}

// optionsOf reads a table of options: each is a long name, with short ones after a slash,
// and = if it has a value.
func optionsOf(table string) options {
	o := options{map[string]bool{}, map[byte]string{}}
	for text := range strings.FieldsSeq(table) {
		names, valued := strings.CutSuffix(text, "=")
		long, short, _ := strings.Cut(names, "/")
		o.valued[long] = valued
		for _, letter := range strings.ReplaceAll(short, "/", "") {
			o.short[byte(letter)] = long
		}
	}
	return o
}

// read hands each option to accept and each other word to other, in their order.
func (f *flags) read() error {
	for plain := false; len(f.words) > 0; {
		w := f.words[0]
		f.words = f.words[1:]
		text := ""
		if len(w) > 0 && !w[0].variable {
			text = w[0].text
		}
		var err error
		switch {
		case plain || len(text) < 2 || text[0] != '-':
			err = f.other(w)
		case text == "--":
			plain = true
		case text[1] == '-':
			err = f.readLong(w)
		default:
			err = f.readShort(w, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readLong reads --name, --name=value, or --name and the next word.
func (f *flags) readLong(w word) error {
	name, value, inline := w.cut('=')
	text, ok := name.literal(nil)
	if !ok {
		return errors.New("an option's name has a variable; write the name")
	}
	text = text[2:]
	valued, known := f.valued[text]
	switch {
	case !known:
		return fmt.Errorf("the option --%s is not known to the importer; remove it, or write the job by hand", printable(text))
	case !valued:
		return f.accept(text, nil)
	case !inline:
		return f.next(text)
	}
	return f.accept(text, value)
}

// next gives the option the following word.
func (f *flags) next(name string) error {
	if len(f.words) == 0 {
		return fmt.Errorf("the option --%s needs a value", name)
	}
	value := f.words[0]
	f.words = f.words[1:]
	return f.accept(name, value)
}

// readShort reads a cluster such as -sS, whose last option may have a value, as in -XPOST.
func (f *flags) readShort(w word, text string) error {
	for i := 1; i < len(text); i++ {
		name, known := f.short[text[i]]
		if !known {
			return fmt.Errorf("the option -%s is not known to the importer; remove it, or write the job by hand", printable(text[i:i+1]))
		}
		if !f.valued[name] {
			if err := f.accept(name, nil); err != nil {
				return err
			}
			continue
		}
		if value := append(textPart(text[i+1:]), w[1:]...); len(value) > 0 { // -XPOST
			return f.accept(name, value)
		}
		return f.next(name)
	}
	if len(w) > 1 {
		return errors.New("an option's name has a variable; write the name")
	}
	return nil
}

// limit shortens the call's time limit.
func (e *entry) limit(d time.Duration) {
	if d > 0 && (e.call.timeout == 0 || d < e.call.timeout) {
		e.call.timeout = d
	}
}

// seconds reads a number of seconds, or with a unit of the shell's tools: s, m, h, d.
func seconds(text string) (time.Duration, error) {
	unit := time.Second
	for suffix, u := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
		if number, is := strings.CutSuffix(text, suffix); is {
			text, unit = number, u
			break
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n*unit.Seconds() > (30*24*time.Hour).Seconds() {
		return 0, errors.New("not a duration")
	}
	return time.Duration(n * float64(unit)).Round(time.Millisecond), nil
}

// doubling returns n waits, each twice the one before, up to a longest.
func doubling(n int, first, longest time.Duration) []time.Duration {
	waits := []time.Duration{}
	for wait := first; len(waits) < min(n, maxRetries); wait *= 2 {
		wait = min(wait, longest)
		waits = append(waits, wait)
	}
	return waits
}

// maxRetries is the number of a source's retries that are taken over.
const maxRetries = 20

// retry takes over the source's retries.
func (e *entry) retry(n int, first, longest time.Duration) {
	e.job.backoff, e.job.hasBackoff = doubling(n, first, longest), true
	if n > maxRetries {
		e.note(Retries, "the source retries %d times; the first %d are taken over", n, maxRetries)
	}
}
