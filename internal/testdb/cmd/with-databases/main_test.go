package main_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/testdb"
	main "github.com/cronce/cronce/internal/testdb/cmd/with-databases"
)

// TestMain lets the test binary be the command itself.
func TestMain(m *testing.M) {
	if os.Getenv("BE_WITH_DATABASES") == "1" {
		main.Main()
	}
	goleak.VerifyTestMain(m)
}

func TestExitsAsTheCommandDoes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		script string
		code   int
	}{
		{"exit 0", 0},
		{"exit 3", 3},
		{"kill -KILL $$", 1},
	} {
		cmd := command("sh", "-c", tt.script)
		cmd.Env = append(cmd.Env, "SHORT=1")
		err := cmd.Run()
		exit := (*exec.ExitError)(nil)
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != tt.code {
			t.Errorf("%q: exit code %d, want %d", tt.script, got, tt.code)
		}
	}
}

func TestShortIsSaidOutLoud(t *testing.T) {
	t.Parallel()
	cmd := command("sh", "-c", `echo "servers: $TEST_POSTGRES_URL$TEST_MYSQL_URL"`)
	cmd.Env = append(cmd.Env, "SHORT=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out); !strings.Contains(got, "NOT TESTED") || !strings.Contains(got, "servers: \n") {
		t.Errorf("printed %q", got)
	}
}

func TestServersAreGoneAfterTheCommand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(cmd *exec.Cmd, stdin io.Closer) error
	}{
		{"that ended", func(_ *exec.Cmd, stdin io.Closer) error { return stdin.Close() }},
		{"whose supervisor was killed", func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Kill() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if testdb.Short() {
				t.Skip("SHORT=1: NOT TESTED")
			}
			cmd := command(waiting...)
			stdin, printed := start(t, cmd)
			server, err := url.Parse(printed)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := net.Dial("tcp", server.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := tt.end(cmd, stdin); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the killed one fails
			if !goneWithin(server.Host, time.Minute) {
				t.Error("the server still listens")
			}
		})
	}
}

// waiting lasts until its standard input is closed.
var waiting = []string{"sh", "-c", `echo "$TEST_POSTGRES_URL"; cat`}

// start starts a waiting command and returns what it printed.
func start(t *testing.T, cmd *exec.Cmd) (stdin io.Closer, printed string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close() // ends it even where its supervisor was killed
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return in, strings.TrimSpace(line)
}

// command runs this test binary as with-databases, with servers of its own.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TEST_") && !strings.HasPrefix(v, "SHORT=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "BE_WITH_DATABASES=1")
	return cmd
}

func goneWithin(address string, d time.Duration) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(d); time.Now().Before(deadline); <-tick.C {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return true
		}
		conn.Close()
	}
	return false
}

func TestServersWriteToDiskWhenAsked(t *testing.T) {
	t.Parallel()
	if testdb.Short() {
		t.Skip("SHORT=1: NOT TESTED")
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "off"},
		{[]string{"-durable"}, "on"},
	} {
		_, server := start(t, command(append(tt.args, waiting...)...))
		conn, err := pgx.Connect(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		var fsync string
		if err := conn.QueryRow(t.Context(), "SHOW fsync").Scan(&fsync); err != nil {
			t.Fatal(err)
		}
		if fsync != tt.want {
			t.Errorf("with-databases %q: fsync is %s, want %s", tt.args, fsync, tt.want)
		}
	}
}
