package deploy_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/deploy/test/bed"
)

// podman runs commands of the manual on a store of images. Its limits are those that
// a container on a machine in a container may set.
const podman = `
podman() {
	local what=$1
	shift
	if [ "$what" = run ]; then
		set -- --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --no-healthcheck "$@"
	fi
	command podman $STORE --runtime runc "$what" "$@"
}
`

// documentedCommands follows the section on containers in docs/deploy.md, in a directory with
// a registry. A newcomer then opens the page with the token that was printed.
func documentedCommands(t *testing.T, store []string) {
	bed.Tool(t, "podman")
	bed.Tool(t, "runc")
	dir, address := t.TempDir(), freeAddress(t)
	bed.Must(t, os.Mkdir(filepath.Join(dir, "registry"), 0o755))
	bed.Must(t, os.WriteFile(filepath.Join(dir, "registry/cronce.yaml"), []byte("version: 1\nname: image\n"), 0o644))
	bed.Must(t, os.WriteFile(filepath.Join(dir, "cronce.env"), nil, 0o600))
	env := append(os.Environ(), "STORE="+strings.Join(store, " "))
	shell := func(script string) (string, error) {
		c := exec.Command("bash", "-c", podman+script) // cleanups run some
		c.Dir, c.Env = dir, env
		out, err := c.Output()
		return string(out), err
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := shell("podman logs --latest 2>&1")
			t.Log(out)
		}
		_, _ = shell("podman rm --all --force --time 0")
	})
	if _, err := shell("podman run --rm cronce version"); err != nil {
		t.Skipf("this machine runs no containers: %v", err)
	}
	_, section, _ := strings.Cut(string(bed.Read(t, "docs/deploy.md")), "## Container\n\n```sh\n")
	block, _, _ := strings.Cut(section, "```")
	commands := strings.Split(strings.ReplaceAll(block, "\\\n", ""), "\n")
	commands = slices.DeleteFunc(commands, func(c string) bool { return !strings.HasPrefix(c, "podman run") })
	if len(commands) != 2 || !strings.Contains(commands[1], "-p 127.0.0.1:9464:") {
		t.Fatalf("the manual has the commands %q", commands)
	}
	token, err := shell(commands[0])
	bed.Must(t, err)
	_, err = shell(strings.NewReplacer("podman run", "podman run --detach", "-p 127.0.0.1:9464:", "-p "+address+":").Replace(commands[1]))
	bed.Must(t, err)
	bed.Eventually(t, "the page", func() bool { return status("http://me:"+strings.TrimSpace(token)+"@"+address+"/") == http.StatusOK })
	if got := status("http://" + address + "/"); got != http.StatusUnauthorized {
		t.Errorf("without the token the page answers %d", got)
	}
}
