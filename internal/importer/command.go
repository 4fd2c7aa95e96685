package importer

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// readLine reads a command line of a shell into the entry's call.
func (e *entry) readLine(line, stdin string) error {
	c, err := parseShell(line)
	if err != nil {
		return err
	}
	if c.redirects {
		e.note(Output, "redirected output is not taken over; cronce records the status of each call")
	}
	if c.fallback {
		e.note(Retries, "the source hides failures (|| true); in cronce a failed run is dead and visible")
	}
	return e.readCommand(c.words, stdin)
}

// readCommand reads the words of a command: wrappers such as flock, then curl or wget.
func (e *entry) readCommand(words []word, stdin string) error {
	words, err := e.unwrap(words)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return errors.New("the command is missing; cronce imports calls of curl and wget")
	}
	name, ok := words[0].literal(e.call.env)
	if !ok {
		return errors.New("the command is a variable; cronce imports calls of curl and wget")
	}
	switch base := path.Base(name); base {
	case "curl":
		return e.readCurl(words[1:], stdin)
	case "wget":
		return e.readWget(words[1:])
	case "sh", "bash", "ash", "dash", "zsh":
		return e.readShell(words[1:], stdin)
	default:
		return fmt.Errorf("the command %q is not curl or wget; give the work an HTTP endpoint, or leave it where it is", printable(base))
	}
}

// readShell reads sh -c 'LINE'.
func (e *entry) readShell(words []word, stdin string) error {
	for i, w := range words {
		text, ok := w.literal(nil)
		switch {
		case !ok || !strings.HasPrefix(text, "-"):
			return errors.New("the command is a shell script; cronce imports calls of curl and wget")
		case strings.HasSuffix(text, "c") && i+1 < len(words): // -c, or a cluster such as -lc
			line, ok := words[i+1].literal(nil)
			if !ok {
				return errors.New("the shell's command line has a variable that is put in before the shell reads it; write the value")
			}
			return e.readLine(line, stdin)
		}
	}
	return errors.New("the command is a shell without -c; cronce imports calls of curl and wget")
}

// unwrap removes what stands in front of a command and what that means for the job.
func (e *entry) unwrap(words []word) ([]word, error) {
	for len(words) > 0 {
		name, value, assigns := words[0].cut('=')
		if variable, ok := name.literal(nil); assigns && ok && isName(variable) {
			v, ok := value.literal(e.call.env)
			if !ok {
				return nil, errors.New("the command sets a variable to a value that only the shell knows, or to a secret; define it outside of the command")
			}
			words = words[1:]
			if slices.ContainsFunc(words, func(w word) bool { return slices.Contains(w, part{variable, true}) }) {
				return nil, errors.New("the command sets a variable and uses it in the same line, where the shell puts in its earlier value; write the value that the call needs")
			}
			e.call.env[variable] = v
			continue
		}
		text, _ := words[0].literal(e.call.env)
		rest := words[1:]
		switch path.Base(text) {
		case "exec", "chronic", "nohup", "command", "env":
		case "nice", "ionice":
			rest = skipFlags(rest, "-n", "-c", "-p")
			e.note(Output, "%s is not taken over; the call runs in cronce", path.Base(text))
		case "timeout":
			var err error
			if rest, err = e.readTimeout(rest); err != nil {
				return nil, err
			}
		case "flock":
			var err error
			if rest, err = e.readFlock(rest); err != nil {
				return nil, err
			}
		default:
			return words, nil
		}
		words = rest
	}
	return nil, nil
}

// skipFlags removes flags in front; those that are named have a value in the next word.
func skipFlags(words []word, valued ...string) []word {
	for len(words) > 0 {
		flag, _ := words[0].literal(nil)
		if !strings.HasPrefix(flag, "-") {
			return words
		}
		words = words[1:]
		if slices.Contains(valued, flag) && len(words) > 0 {
			words = words[1:]
		}
	}
	return words
}

func (e *entry) readTimeout(words []word) ([]word, error) {
	words = skipFlags(words, "-s", "--signal", "-k", "--kill-after")
	if len(words) == 0 {
		return nil, errors.New("timeout has no duration; write one, such as timeout 5m")
	}
	text, _ := words[0].literal(e.call.env)
	limit, err := seconds(text)
	if err != nil {
		return nil, errors.New("the duration of timeout is invalid; use a number of seconds, or a unit, such as 5m")
	}
	e.limit(limit)
	return words[1:], nil
}
