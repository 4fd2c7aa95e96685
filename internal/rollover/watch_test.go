package rollover_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/rollover"
)

// files is a directory in which a registry file is changed.
type files struct {
	*testing.T
	dir string
}

func (f files) path(name string) string { return filepath.Join(f.dir, name) }

func (f files) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f files) write(name, text string) {
	f.Helper()
	f.must(os.MkdirAll(filepath.Dir(f.path(name)), 0o700))
	f.must(os.WriteFile(f.path(name), []byte(text), 0o600))
}

func (f files) link(target, name string) {
	f.Helper()
	f.must(os.Symlink(target, f.path("new")))
	f.must(os.Rename(f.path("new"), f.path(name)))
}

func TestWatchSeesEachWayToChangeAFile(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(f files)
		want   int
	}{
		"nothing":            {func(files) {}, 0},
		"written in place":   {func(f files) { f.write("..1/cronce.yaml", "b") }, 1},
		"written the same":   {func(f files) { f.write("..1/cronce.yaml", "a") }, 0},
		"of the same length": {func(f files) { f.write("..1/cronce.yaml", "x") }, 1},
		"another file is renamed onto it": {func(f files) {
			f.write("cronce.yaml.new", "b")
			f.must(os.Rename(f.path("cronce.yaml.new"), f.path("cronce.yaml")))
		}, 1},
		"a ConfigMap is updated": {func(f files) {
			f.write("..2/cronce.yaml", "b")
			f.link("..2", "..data")
			f.must(os.RemoveAll(f.path("..1")))
		}, 1},
		"removed": {func(f files) { f.must(os.Remove(f.path("cronce.yaml"))) }, 1},
		"gone for a moment": {func(f files) {
			f.must(os.Remove(f.path("cronce.yaml")))
			time.Sleep(2 * time.Second)
			f.write("cronce.yaml", "a")
		}, 0},
		"written in pieces": {func(f files) {
			for _, text := range []string{"", "b", "bc", "bcd"} {
				f.write("..1/cronce.yaml", text)
				time.Sleep(2 * time.Second)
			}
		}, 1},
		"twice": {func(f files) {
			f.write("..1/cronce.yaml", "b")
			time.Sleep(time.Minute)
			f.write("..1/cronce.yaml", "a")
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := files{t, t.TempDir()}
				f.write("..1/cronce.yaml", "a") // as the kubelet lays it out
				f.link("..1", "..data")
				f.link("..data/cronce.yaml", "cronce.yaml")
				w := rollover.NewWatch(f.path("cronce.yaml"), f.path("not-there"))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				changes := 0
				go w.Run(ctx, 2*time.Second, func() { changes++ })
				time.Sleep(time.Minute + time.Second)
				tc.change(f)
				time.Sleep(time.Minute)
				synctest.Wait()
				if changes != tc.want {
					t.Errorf("%d changes told, want %d", changes, tc.want)
				}
			})
		})
	}
}
