package targets

import (
	"log/slog"
	"sync"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
)

// rereadEvery is how long a secret from a file is used before the file is read
// again. A rotated secret is so used within a second, and calls cost no reading.
const rereadEvery = time.Second

// source is one secret of a target. One from the environment is read once; one
// from a file again while the process runs: a file that cannot be read any more
// leaves the last value in use.
type source struct {
	name   string // for messages: where the secret is
	read   func() (string, error)
	static bool
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	value   string
	former  string // the value before, which calls under way may carry
	refused string // a target answered 401 to it
	failure error  // of the last reading
	due     time.Time
}

// sources reads secrets of the target's auth, named as in jobs.Auth.Read. Those that
// the registry may do without, and does, are left out.
func (r *resolver) sources(names ...string) (list sources) {
	return r.usableSources(func(string) error { return nil }, names...)
}

// usableSources returns secrets of which usable says what is wrong with a value. One that
// is not usable, such as half of a file that is being written, does not replace the
// last value.
func (r *resolver) usableSources(usable func(string) error, names ...string) (list sources) {
	for _, name := range names {
		secret := r.entry.Auth.Reference(name)
		if secret == (jobs.Secret{}) {
			continue
		}
		list = append(list, r.sourceBy(name, secret, func(name string, lookup func(string) (string, bool)) (string, error) {
			text, err := r.entry.Auth.Read(name, lookup)
			if err != nil {
				return "", err
			}
			if err := usable(text); err != nil {
				return "", bad(jobs.CodeBadSecret, "%s %s", secret, err)
			}
			return text, nil
		}))
	}
	return list
}

// sourceBy reads a secret for the first time. A problem ends the start; later reads keep the value that they
// cannot replace.
func (r *resolver) sourceBy(name string, secret jobs.Secret, read func(string, func(string) (string, bool)) (string, error)) *source {
	s := &source{
		name: secret.String(), static: secret.File == "", now: r.now, log: r.log.With("target", r.entry.Name),
		read: func() (string, error) { return read(name, r.lookup) },
	}
	s.value, s.failure = s.read()
	s.due = s.now().Add(rereadEvery)
	r.note(s.failure)
	return s
}

// get returns the secret. It fails while a target refuses the last value and the
// file holds no other that can be read: the call then waits.
func (s *source) get() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); !s.static && (!now.Before(s.due) || s.due.Sub(now) > rereadEvery) {
		s.refresh(now)
	}
	if s.failure != nil && (s.value == "" || s.value == s.refused) {
		return "", &unsignedError{why: s.failure.Error(), wait: firstHoldOff}
	}
	return s.value, nil
}

// refresh reads the file again. The caller holds the lock.
func (s *source) refresh(now time.Time) {
	s.due = now.Add(rereadEvery)
	value, err := s.read()
	switch {
	case err != nil && s.failure == nil:
		s.log.Warn("secret not read again; last value used", "secret", s.name, "error", err)
	case err == nil && value != s.value:
		s.former, s.value = s.value, value
		s.log.Info("secret changed", "secret", s.name)
	}
	s.failure = err
}

// renew is told that a target refused a value, and reports whether there is
// something else to try: another value, or to wait for one.
func (s *source) renew(refused string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.static {
		return false
	}
	s.refused = refused
	s.refresh(s.now())
	return s.value != refused || s.failure != nil
}

// secrets returns the value and the one before.
func (s *source) secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.former == "" {
		return []string{s.value}
	}
	return []string{s.value, s.former}
}

// sources are all the secrets that authorize a call.
type sources []*source

// get returns their values, or the error of the first that has none.
func (list sources) get() ([]string, error) {
	values := make([]string, len(list))
	for i, s := range list {
		value, err := s.get()
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}

// renew is told which values a target refused, the first of the list or all.
func (list sources) renew(used []string, _ executor.Call) (changed bool) {
	for i, value := range used {
		changed = list[i].renew(value) || changed
	}
	return changed
}

func (list sources) secrets() (all []string) {
	for _, s := range list {
		all = append(all, s.secrets()...)
	}
	return all
}
