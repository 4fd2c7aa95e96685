package chaos_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cronce/cronce/chaos"
	"github.com/cronce/cronce/internal/testdb"
)

var (
	crowd = flag.Int("jobs", 0, "load: how many jobs are due in the same second")
	soak  = flag.Duration("soak", 0, "how long a scheduler runs in peace, to see its memory stay")
)

// rounds is how many scheduled times the load test watches, besides the first, in
// which the scheduler's connections are new.
const rounds = 3

// TestLoad has all jobs due in the same second, and again every 20 s.
func TestLoad(t *testing.T) {
	if *crowd == 0 {
		t.Skip("runs with -jobs only")
	}
	fmt.Printf("| %d jobs due in the same second | p50 late | p99 late | latest | memory | peak |\n|---|---|---|---|---|---|\n", *crowd)
	engines(t, func(t *testing.T, engine, db string) {
		c := start(t, db, "*/20 * * * * *", *crowd)
		complete(t, c, rounds+1)
		now, peak, err := c.Memory()
		must(t, err)
		for i, r := range c.Rounds() {
			if r.Calls != *crowd {
				t.Errorf("%s: %d calls of %d jobs", r.ScheduledAt, r.Calls, *crowd)
			}
			if i > 0 {
				fmt.Printf("| %s | %d ms | %d ms | %d ms | %d MB | %d MB |\n", engine, r.P50.Milliseconds(), r.P99.Milliseconds(), r.Max.Milliseconds(), now>>20, peak>>20)
			}
		}
		if n := c.Repeated(); n > 0 {
			t.Errorf("%d runs were called twice, and nothing was broken", n)
		}
	})
}

// complete waits until so many scheduled times have been called for every job.
func complete(t *testing.T, c *chaos.Crowd, n int) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Duration(n+3) * 20 * time.Second); time.Now().Before(deadline); <-tick.C {
		must(t, c.Crashed())
		list := c.Rounds()
		if len(list) >= n && list[n-1].Calls >= *crowd {
			return
		}
	}
	t.Fatalf("not every job was called in time: %+v", c.Rounds())
}

// soakJobs are due every second.
const soakJobs = 100

// TestSoak compares memory and goroutines of the first quarter, after a
// warm-up of a fifth, with those of the last.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("runs with -soak only")
	}
	fmt.Printf("| %v, %d runs a second | memory in the first quarter | in the last | goroutines |\n|---|---|---|---|\n", *soak, soakJobs)
	engines(t, func(t *testing.T, engine, db string) {
		c := start(t, db, "* * * * * *", soakJobs)
		memory, goroutines := watch(t, c, *soak)
		quarter := len(memory) / 4
		first, last := median(memory[:quarter]), median(memory[3*quarter:])
		was, is := median(goroutines[:quarter]), median(goroutines[3*quarter:])
		fmt.Printf("| %s | %.1f MB | %.1f MB | %d, then %d |\n", engine, float64(first)/(1<<20), float64(last)/(1<<20), was, is)
		if last > first+first/10+4<<20 {
			t.Errorf("memory grew from %d to %d bytes", first, last)
		}
		if is > was+10 {
			t.Errorf("goroutines grew from %d to %d", was, is)
		}
	})
}

var goroutinesLine = regexp.MustCompile(`(?m)^go_goroutines (\d+)`)

// watch samples once a second, after the warm-up.
func watch(t *testing.T, c *chaos.Crowd, d time.Duration) (memory, goroutines []int64) {
	t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	begun := time.Now()
	for time.Since(begun) < d {
		<-tick.C
		must(t, c.Crashed())
		c.Forget()
		if time.Since(begun) < d/5 {
			continue
		}
		now, _, err := c.Memory()
		must(t, err)
		text, err := c.Metrics()
		must(t, err)
		match := goroutinesLine.FindStringSubmatch(text)
		if match == nil {
			t.Fatal("no go_goroutines in the metrics")
		}
		n, err := strconv.ParseInt(match[1], 10, 64)
		must(t, err)
		memory, goroutines = append(memory, now), append(goroutines, n)
	}
	if len(memory) < 8 {
		t.Fatalf("%d samples say nothing; soak for longer", len(memory))
	}
	return memory, goroutines
}

func median(list []int64) int64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

func engines(t *testing.T, test func(t *testing.T, engine, db string)) {
	t.Run("PostgreSQL", func(t *testing.T) {
		server := testdb.PostgresServer(t)
		db, err := server.Create("crowd")
		must(t, err)
		test(t, "PostgreSQL", db)
	})
	t.Run("SQLite", func(t *testing.T) { test(t, "SQLite", "sqlite:"+filepath.Join(workDir(t), "ledger.db")) })
}

func start(t *testing.T, db, schedule string, jobs int) *chaos.Crowd {
	t.Helper()
	c, err := chaos.NewCrowd(build(t, "cronce", "scheduler"), workDir(t), db, schedule, jobs)
	must(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
