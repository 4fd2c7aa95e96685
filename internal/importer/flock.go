package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// lock is the effect of flock(1) in front of a command (util-linux).
type lock struct {
	key    string // of its file's name; "" without a lock
	nowait bool   // gives up at once
	waits  string // how many seconds it waits; "": for ever
	shared bool   // beside other shared ones
}

var flockOptions = optionsOf(`
	nonblock/n nb shared/s exclusive/x/e close/o no-fork/F verbose fcntl wait/w= timeout= conflict-exit-code/E=`)

// readFlock reads a lock around a command, and returns the command.
func (e *entry) readFlock(words []word) ([]word, error) {
	var l lock
	var rest []word
	f := flags{words: words, options: flockOptions}
	f.accept = func(name string, value word) error { return l.option(name, value, e.call.env) }
	f.other = func(w word) error { // its file; then the command
		rest, f.words = append([]word{w}, f.words...), nil
		return nil
	}
	if err := f.read(); err != nil {
		return nil, fmt.Errorf("flock: %w", err)
	}
	if len(rest) < 2 {
		return nil, errors.New("flock starts no command; cronce imports a command that flock starts")
	}
	if l.key, _ = rest[0].literal(e.call.env); l.key == "" {
		l.key = rest[0].key()
	}
	e.lock = l
	e.job.overlap = l.overlap(e)
	if flag, _ := rest[1].literal(nil); flag == "-c" || flag == "--command" {
		return append([]word{literal("sh"), literal("-c")}, rest[2:]...), nil
	}
	return rest[1:], nil
}

func (l *lock) option(name string, value word, env map[string]string) error {
	switch name {
	case "nonblock", "nb":
		l.nowait = true
	case "shared":
		l.shared = true
	case "exclusive":
		l.shared = false
	case "wait", "timeout":
		text, _ := value.literal(env)
		limit, err := seconds(text)
		if err != nil || strings.Trim(text, "0123456789.") != "" {
			return fmt.Errorf("the option --%s needs a number of seconds", name)
		}
		l.nowait, l.waits = limit == 0, text
		if l.nowait {
			l.waits = ""
		}
	}
	return nil
}

// overlap returns the job's policy that does what the lock does to runs of one line.
func (l *lock) overlap(e *entry) string {
	switch {
	case l.shared:
		e.note(Overlaps, "flock --shared lets runs overlap, unless another command has the lock alone; the job has overlap: allow")
		return "allow"
	case l.nowait:
		return "skip"
	case l.waits != "":
		e.note(Overlaps, "flock gives up after %s seconds; in cronce the run waits until the last one has ended (overlap: queue)", l.waits)
	}
	return "queue"
}

// noteLocks says which jobs exclude each other in the source: in cronce a job's
// overlap policy is about its own runs.
func (b *builder) noteLocks() {
	for _, key := range slices.Sorted(maps.Keys(b.locks)) {
		jobs := b.locks[key]
		for i, d := range jobs {
			var others []string
			for j, other := range jobs {
				if i != j {
					others = append(others, other.Job)
				}
			}
			if len(others) > 0 {
				d.Aspect = Overlaps
				d.Text = fmt.Sprintf("flock uses one lock file for this job and %s, so they never run together; in cronce they may, since "+
					"overlap is about runs of one job", names(others))
				b.add(d)
			}
		}
	}
}
