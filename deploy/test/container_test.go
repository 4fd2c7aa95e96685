package deploy_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/deploy/test/bed"
)

// images is a store of images, gone with the test.
type images struct {
	*testing.T
	buildah []string
}

// newImages has the image localhost/builder: the directories of this machine in
// the place of the Go image, which would have to be downloaded.
func newImages(t *testing.T) images {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("images are built as root here: buildah without root needs subordinate ids")
	}
	dir := t.TempDir()
	i := images{t, []string{bed.Tool(t, "buildah"), "--storage-driver", "vfs", "--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run")}}
	container := i.run("from", "scratch")
	i.Cleanup(func() { i.run("rm", "--all") })
	mount := i.run("mount", container)
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if target, err := os.Readlink("/" + name); err == nil {
			bed.Must(t, os.Symlink(target, filepath.Join(mount, name)))
		}
	}
	bed.Must(t, os.Mkdir(filepath.Join(mount, "tmp"), 0o777))
	environment := []string{"config", "--env", "PATH=" + os.Getenv("PATH") + ":/usr/bin:/bin", "--env", "HOME=/root"}
	for _, name := range []string{"GOPROXY", "GONOSUMDB", "GOFLAGS", "GOMODCACHE", "GOCACHE", "GOSUMDB"} {
		environment = append(environment, "--env", name+"="+goEnv(t, name))
	}
	i.run(append(environment, container)...)
	i.run("umount", container)
	i.run("commit", "--quiet", container, "localhost/builder")
	return i
}

func (i images) run(args ...string) string {
	i.Helper()
	return strings.TrimSpace(bed.Run(i.T, nil, append(slices.Clone(i.buildah), args...)...))
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(bed.Run(t, nil, "go", "env", name))
}

// build builds the Containerfile, and returns the image's root and settings.
func (i images) build() (rootfs string, settings imageSettings) {
	i.Helper()
	args := []string{"bud", "--isolation", "chroot", "--network", "host", "--format", "docker", "--quiet",
		"--build-arg", "BUILDER=localhost/builder", "--build-arg", "VERSION=1.2.3", "-f", "deploy/container/Containerfile", "-t", "localhost/cronce"}
	for _, dir := range []string{"/usr", "/etc", goEnv(i.T, "GOMODCACHE"), goEnv(i.T, "GOCACHE")} {
		args = append(args, "-v", dir+":"+dir)
	}
	i.run(append(args, ".")...)
	bed.Must(i.T, json.Unmarshal([]byte(i.run("inspect", "--type", "image", "localhost/cronce")), &settings))
	return i.run("mount", i.run("from", "localhost/cronce")), settings
}

type imageSettings struct {
	Docker struct {
		Config struct {
			User, WorkingDir string
			Env              []string
			Cmd, Entrypoint  []string
			Healthcheck      struct{ Test []string }
		} `json:"config"`
	}
}

// The Containerfile is built whole. Its root runs read-only, as an account that is
// not root, and answers its health check.
func TestTheImage(t *testing.T) {
	store := newImages(t)
	rootfs, settings := store.build()
	t.Run("the documented commands show the dashboard", func(t *testing.T) { documentedCommands(t, store.buildah[1:]) })
	var files []string
	bed.Must(t, filepath.WalkDir(rootfs, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, rootfs))
		}
		return err
	}))
	if want := []string{"/etc/ssl/certs/ca-certificates.crt", "/usr/bin/cronce"}; !slices.Equal(files, want) {
		t.Errorf("files %v, want %v", files, want)
	}
	config := settings.Docker.Config
	command := append(slices.Clone(config.Entrypoint), config.Cmd...)
	if config.User != "65532:65532" || !slices.Equal(command, []string{"/usr/bin/cronce", "serve"}) || len(config.Healthcheck.Test) == 0 {
		t.Fatalf("settings %+v", config)
	}

	dir, volume, address := t.TempDir(), t.TempDir(), freeAddress(t)
	bed.Must(t, os.Chown(volume, 65532, 65532))
	bed.Must(t, os.WriteFile(filepath.Join(dir, "cronce.yaml"), []byte("version: 1\nname: image\n"), 0o644))
	env := append(slices.Clone(config.Env), "CRONCE_LISTEN="+address)
	inside := func(command ...string) []string {
		script := `set -e
mount --bind "$0" "$0"
mount --bind "$1" "$0/etc/cronce"
mount --bind "$2" "$0/var/lib/cronce"
mount -o remount,bind,ro "$0"
shift 2
exec env -i "$@"`
		chroot := append([]string{"chroot", "--userspec=65532:65532", rootfs}, command...)
		return append(append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-c", script, rootfs, dir, volume}, env...), chroot...)
	}
	start(t, nil, inside(command...)...)
	bed.Eventually(t, "the container to be ready", func() bool { return status("http://"+address+"/readyz") == http.StatusOK })
	if out := bed.Run(t, nil, inside(config.Healthcheck.Test[1:]...)...); out != "ok\n" {
		t.Errorf("the health check prints %q", out)
	}
	bed.Run(t, nil, inside("/usr/bin/cronce", "status")...) // fails unless a process serves
	if out := bed.Run(t, nil, inside("/usr/bin/cronce", "version")...); !strings.HasPrefix(out, "cronce 1.2.3,") {
		t.Errorf("version %q", out)
	}
}
