package rollover

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"time"
)

// A Watch tells when the contents of files change. It reads the files instead
// of asking the operating system for events: that works for a file that is
// written in place, for one that another is renamed onto, for the symbolic links
// of a Kubernetes ConfigMap, and on network file systems.
type Watch struct {
	paths []string
	seen  [sha256.Size]byte // what was last told, or there at the start
}

// NewWatch notes what the files contain now.
func NewWatch(paths ...string) *Watch { return &Watch{paths: paths, seen: digest(paths)} }

// Run calls changed for each change that lasted for one period, so that a file
// that is still being written is left alone, until ctx ends. A file that cannot
// be read counts as a content of its own.
func (w *Watch) Run(ctx context.Context, every time.Duration, changed func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	before := w.seen
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := digest(w.paths)
		if now == before && now != w.seen {
			w.seen = now
			changed()
		}
		before = now
	}
}

// digestLimit bounds how much of a file is read: more than a registry may have.
const digestLimit = 8 << 20

func digest(paths []string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, path := range paths {
		f, err := os.Open(path)
		if err == nil {
			h.Write([]byte{1})
			_, err = io.Copy(h, io.LimitReader(f, digestLimit))
			f.Close()
		}
		if err != nil {
			h.Write([]byte{0})
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
