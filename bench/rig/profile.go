package rig

import (
	"log"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"
)

// profileEnv names a directory into which each contender writes a CPU profile
// of its measured part; figures of such a round are not to be quoted.
const profileEnv = "BENCH_PROFILE"

// profile starts one at the given time, if any is wanted. It ends with Done.
func (t *Task) profile(at time.Time) {
	dir := os.Getenv(profileEnv)
	if dir == "" {
		return
	}
	name := strings.NewReplacer(" ", "-", ",", "", "/", "-").Replace(t.Contender)
	time.AfterFunc(time.Until(at), func() {
		f, err := os.Create(filepath.Join(dir, name+".pprof"))
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			log.Print(err)
		}
	})
}
