package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"github.com/cronce/cronce/internal/testproc"
)

// openTerminal opens a new one: the end of its emulator and the one of its programs.
func openTerminal(t *testing.T) (emulator, programs *os.File) {
	t.Helper()
	emulator, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var unlock, number int32
	for request, arg := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, emulator.Fd(), request, uintptr(unsafe.Pointer(arg))); errno != 0 {
			t.Fatal(errno)
		}
	}
	programs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return emulator, programs
}

// A serve whose terminal is closed is nobody's daemon: it stops gracefully.
func TestAClosedTerminalStopsServe(t *testing.T) {
	t.Parallel()
	svc := newService(t)
	db := "sqlite:" + filepath.Join(t.TempDir(), "l.db")
	emulator, programs := openTerminal(t)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--config", writeFile(t, everySecond), "--db", db, "--listen", "")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = programs, programs, programs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p := testproc.Start(t, cmd, "CRONCE_TEST_AS_BINARY=1", "SVC_URL="+svc.URL)
	programs.Close()
	eventually(t, "a first effect", func() bool { _, n := svc.count(); return n > 0 })
	emulator.Close()
	if code := p.Wait(); code != exitDone {
		t.Errorf("exit %d", code)
	}
	if left := listRuns(t, db, "--state", "running"); len(left) > 0 {
		t.Errorf("%d runs are left leased", len(left))
	}
}
