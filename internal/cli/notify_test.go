//go:build unix

package cli_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cronce/cronce/internal/testdb"
)

// manager is a service manager's end of sd_notify(3).
type manager struct {
	socket string
	mu     sync.Mutex
	states []string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") //nolint:usetesting // short: a socket's path has 107 characters at most
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{socket: filepath.Join(dir, "s")}
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(func() { l.Close(); group.Wait(); os.RemoveAll(dir) })
	group.Go(func() {
		for buffer := make([]byte, 4096); ; {
			n, err := l.Read(buffer)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.states = append(m.states, string(buffer[:n]))
			m.mu.Unlock()
		}
	})
	return m
}

// told counts the messages that begin so.
func (m *manager) told(state string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.states {
		if strings.HasPrefix(s, state) {
			n++
		}
	}
	return n
}

// sequence is what was told, without the watchdog's.
func (m *manager) sequence() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []string
	for _, s := range m.states {
		if word, _, _ := strings.Cut(s, "="); word != "WATCHDOG" {
			list = append(list, word)
		}
	}
	return strings.Join(list, " ")
}

func TestServeNotifiesSystemd(t *testing.T) {
	t.Parallel()
	svc, m, config := newService(t), newManager(t), writeFile(t, everySecond)
	p := spawn(t, []string{"SVC_URL=" + svc.URL, "NOTIFY_SOCKET=" + m.socket, "WATCHDOG_USEC=400000"},
		"serve", "--config", config, "--db", "sqlite:"+filepath.Join(t.TempDir(), "l.db"), "--listen", "")
	eventually(t, "readiness", func() bool { return m.told("READY=1") == 1 })
	eventually(t, "the watchdog to be fed", func() bool { return m.told("WATCHDOG=1") > 3 })
	p.signal(syscall.SIGHUP)
	eventually(t, "the reload", func() bool { return m.told("RELOADING=1\nMONOTONIC_USEC=") == 1 && m.told("READY=1") == 2 })
	rewrite(t, config, "")
	p.signal(syscall.SIGHUP)
	eventually(t, "the reload that fails", func() bool { return m.told("RELOADING=1") == 2 && m.told("READY=1") == 3 })
	fed := m.told("WATCHDOG=1")
	eventually(t, "the watchdog to be fed after it", func() bool { return m.told("WATCHDOG=1") > fed+1 })
	p.Interrupt()
	if got, want := m.sequence(), "EXTEND_TIMEOUT_USEC READY RELOADING READY RELOADING READY STOPPING"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}

// The watchdog restarts a process whose planner is stuck, but not one whose ledger
// does not answer. The process is not ready before the ledger's first answer.
func TestTheWatchdogFollowsThePlanner(t *testing.T) {
	t.Parallel()
	svc, m, server := newService(t), newManager(t), testdb.PostgresServer(t)
	p := spawn(t, []string{"SVC_URL=" + svc.URL, "NOTIFY_SOCKET=" + m.socket, "WATCHDOG_USEC=12000000"},
		"serve", "--config", writeFile(t, everySecond), "--db", server.URL, "--listen", "")
	eventually(t, "the watchdog to be fed", func() bool { return m.told("WATCHDOG=1") > 0 })
	if err := server.Stop(testdb.Immediate); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the ledger's failure to be seen", func() bool { return strings.Contains(p.Log.String(), "ledger unavailable") })
	fed := m.told("WATCHDOG=1")
	eventually(t, "the watchdog to be fed without a ledger", func() bool { return m.told("WATCHDOG=1") > fed+1 })
	if code := p.Interrupt(); code != exitDone {
		t.Errorf("exit %d", code)
	}
}
