package testdb

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed keeper.sh
var keeperScript string

// A keeper is the shell process that runs a server and cleans up after it. It
// is a session of its own, so that neither an interrupt at the terminal nor the
// kill of a test takes it away before it has done so; and no goroutine of ours
// watches it, so that tests which look for leaked goroutines see none.
type keeper struct {
	dir    string
	cmd    *exec.Cmd
	orders io.WriteCloser
	pipe   io.ReadCloser
	news   *bufio.Reader
	server *os.Process // nil: stopped
}

func newKeeper(dir string, r *recipe, a *account) (*keeper, error) {
	k := &keeper{dir: dir}
	arguments := []string{"-c", keeperScript, "keeper", dir, strconv.Itoa(int(r.immediate))}
	k.cmd = exec.Command("/bin/sh", append(arguments, r.serve...)...)
	k.cmd.SysProcAttr = a.attributes()
	var err error
	if k.orders, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if k.pipe, err = k.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	k.news = bufio.NewReader(k.pipe)
	return k, k.cmd.Start()
}

// start starts the server's process.
func (k *keeper) start() error {
	if k.server != nil {
		return errors.New("the server runs already")
	}
	if _, err := io.WriteString(k.orders, "start\n"); err != nil {
		return err
	}
	line, err := k.next(maxWait)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(line, "started "))
	if err != nil {
		return fmt.Errorf("the keeper said %q", line)
	}
	k.server, err = os.FindProcess(pid)
	return err
}

// stop sends the server a signal and waits for its end.
func (k *keeper) stop(sig os.Signal) error {
	if k.server == nil {
		return errors.New("the server is stopped already")
	}
	if err := k.server.Signal(sig); err != nil {
		return err
	}
	exited, err := k.exited(maxWait)
	if err == nil && !exited {
		err = fmt.Errorf("the server did not stop in %v:\n%s", maxWait, k.log())
	}
	return err
}

// exited waits up to d for the server's end.
func (k *keeper) exited(d time.Duration) (bool, error) {
	switch line, err := k.next(d); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return false, nil
	case err != nil:
		return false, err
	case line != "exited":
		return false, fmt.Errorf("the keeper said %q", line)
	}
	k.server = nil
	return true, nil
}

// next is the keeper's next line. A line is written whole, so a deadline never
// cuts one.
func (k *keeper) next(d time.Duration) (string, error) {
	if f, ok := k.pipe.(*os.File); ok {
		if err := f.SetReadDeadline(time.Now().Add(d)); err != nil {
			return "", err
		}
	}
	line, err := k.news.ReadString('\n')
	return strings.TrimSpace(line), err
}

// log is the end of what the server has printed.
func (k *keeper) log() string {
	const most = 4000
	b, err := os.ReadFile(filepath.Join(k.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-most):])
}

// close has the keeper stop the server and remove its directory, and waits for
// both.
func (k *keeper) close() {
	k.orders.Close()
	// Its output ends when it does. How it ends does not matter any more.
	_, _ = io.Copy(io.Discard, k.pipe)
	_ = k.cmd.Wait()
}
