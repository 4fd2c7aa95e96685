package rig

import (
	"errors"
	"log"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"
)

// profileEnv names a directory into which each contender written in Go puts a
// CPU profile of its measured part, NAME.pprof, and what it had allocated before
// and after it, NAME.before and NAME.after (go tool pprof -base NAME.before
// NAME.after). Figures of such a round are not to be quoted.
const profileEnv = "BENCH_PROFILE"

// profile starts the profiles at the given time, if any are wanted.
func (t *Task) profile(at time.Time) {
	if os.Getenv(profileEnv) == "" {
		return
	}
	time.AfterFunc(time.Until(at), func() {
		t.allocated(".before")
		f, err := t.profileFile(".pprof")
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			log.Print(err)
		}
	})
}

// profiled ends them.
func (t *Task) profiled() {
	if os.Getenv(profileEnv) == "" {
		return
	}
	pprof.StopCPUProfile()
	t.allocated(".after")
}

func (t *Task) allocated(when string) {
	f, err := t.profileFile(when)
	if err == nil {
		err = errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
	}
	if err != nil {
		log.Print(err)
	}
}

func (t *Task) profileFile(kind string) (*os.File, error) {
	name := strings.NewReplacer(" ", "-", ",", "", "/", "-").Replace(t.Contender)
	return os.Create(filepath.Join(os.Getenv(profileEnv), name+kind))
}
