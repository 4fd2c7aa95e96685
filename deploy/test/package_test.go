package deploy_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"sigs.k8s.io/yaml"

	"github.com/cronce/cronce/deploy/test/bed"
)

// packages is the part of .goreleaser.yaml that GoReleaser hands to nfpm.
type packages struct {
	NFPMs []struct {
		PackageName string   `json:"package_name"`
		Formats     []string `json:"formats"`
		Bindir      string   `json:"bindir"`
		Maintainer  string   `json:"maintainer"`
		Description string   `json:"description"`
		License     string   `json:"license"`
		Contents    []struct {
			Source   string         `json:"src"`
			To       string         `json:"dst"`
			Type     string         `json:"type"`
			FileInfo map[string]int `json:"file_info"`
		} `json:"contents"`
		Scripts struct {
			PostInstall string `json:"postinstall"`
			PreRemove   string `json:"preremove"`
		} `json:"scripts"`
	} `json:"nfpms"`
}

// build makes the packages of a release as GoReleaser does, by the same library.
func build(t *testing.T) (byFormat map[string]string) {
	t.Helper()
	var config packages
	bed.Must(t, yaml.Unmarshal(bed.Read(t, ".goreleaser.yaml"), &config))
	extra := bed.Release(t)
	p := config.NFPMs[0]
	info := &nfpm.Info{
		Name: p.PackageName, Version: "1.2.3", Arch: "amd64", Platform: "linux", Maintainer: p.Maintainer, Description: p.Description, License: p.License,
		Overridables: nfpm.Overridables{Contents: files.Contents{{Source: bed.Binary(t), Destination: filepath.Join(p.Bindir, "cronce"), FileInfo: &files.ContentFileInfo{Mode: 0o755}}}},
	}
	for _, c := range p.Contents {
		source, made := strings.CutPrefix(c.Source, "dist-files/")
		if made {
			source = filepath.Join(extra, source)
		} else {
			source = filepath.Join(bed.Root(t), source)
		}
		content := &files.Content{Source: source, Destination: c.To, Type: c.Type}
		if mode := c.FileInfo["mode"]; mode != 0 {
			content.FileInfo = &files.ContentFileInfo{Mode: os.FileMode(mode)}
		}
		info.Contents = append(info.Contents, content)
	}
	info.Scripts = nfpm.Scripts{PostInstall: filepath.Join(bed.Root(t), p.Scripts.PostInstall), PreRemove: filepath.Join(bed.Root(t), p.Scripts.PreRemove)}
	if !slices.Equal(p.Formats, []string{"deb", "rpm", "apk"}) {
		t.Errorf("formats %v", p.Formats)
	}
	byFormat = map[string]string{}
	for _, format := range p.Formats {
		packager, err := nfpm.Get(format)
		bed.Must(t, err)
		one := *info
		bed.Must(t, nfpm.PrepareForPackager(&one, format))
		var out bytes.Buffer
		bed.Must(t, packager.Package(&one, &out))
		byFormat[format] = filepath.Join(t.TempDir(), "cronce."+format)
		bed.Must(t, os.WriteFile(byFormat[format], out.Bytes(), 0o644))
	}
	return byFormat
}

// The package is installed into a directory, used, upgraded over an edited
// configuration, and removed.
func TestTheDebianPackageInstalls(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("dpkg installs as root only")
	}
	deb := build(t)["deb"]
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info", "bin", "usr/bin", "tmp"} {
		bed.Must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	bed.Must(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644))
	dpkg := func(args ...string) string {
		t.Helper()
		// The scripts run in this system: there is no shell in the directory.
		return bed.Run(t, nil, append([]string{"dpkg", "--root=" + root, "--force-script-chrootless", "--force-confold", "--no-triggers"}, args...)...)
	}
	if out := dpkg("--install", deb); !strings.Contains(out, "/usr/share/doc/cronce/cronce.yaml") {
		t.Errorf("the install does not say what to do next:\n%s", out)
	}
	if out := bed.Run(t, nil, filepath.Join(root, "usr/bin/cronce"), "version"); !strings.HasPrefix(out, "cronce 1.2.3,") {
		t.Errorf("the installed program says %q", out)
	}
	bed.Run(t, []string{"MEMBERSHIP_URL=https://membership.example"}, filepath.Join(root, "usr/bin/cronce"), "check", "--no-env", "--config", filepath.Join(root, "usr/share/doc/cronce/cronce.yaml"))
	for _, name := range []string{"lib/systemd/system/cronce.service", "share/man/man1/cronce.1.gz", "share/man/man1/cronce-runs-redrive.1.gz",
		"share/bash-completion/completions/cronce", "share/zsh/vendor-completions/_cronce", "share/fish/vendor_completions.d/cronce.fish", "share/doc/cronce/copyright"} {
		if _, err := os.Stat(filepath.Join(root, "usr", name)); err != nil {
			t.Error(err)
		}
	}
	bed.Run(t, nil, "bash", "-n", filepath.Join(root, "usr/share/bash-completion/completions/cronce"))
	env := filepath.Join(root, "etc/cronce/cronce.env")
	if info, err := os.Stat(env); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the environment's file has tokens in it: %v, %v", info, err)
	}
	bed.Must(t, os.WriteFile(env, []byte("MINE=1\n"), 0o600))
	dpkg("--install", deb)
	if kept, err := os.ReadFile(env); err != nil || string(kept) != "MINE=1\n" {
		t.Errorf("an upgrade left %q of the environment's file, %v", kept, err)
	}
	dpkg("--remove", "cronce")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/cronce")); !os.IsNotExist(err) {
		t.Error("the program is still there")
	}
}

// The size in the manual may be off by 1.5 MB. A larger difference means that a
// dependency was added, and is to be explained.
func TestTheBinaryWeighsWhatTheManualSays(t *testing.T) {
	said := regexp.MustCompile(`The binary is (\d+) MB`).FindSubmatch(bed.Read(t, "docs/deploy.md"))
	if said == nil {
		t.Fatal("docs/deploy.md does not say what the binary weighs")
	}
	want, err := strconv.Atoi(string(said[1]))
	bed.Must(t, err)
	info, err := os.Stat(bed.Binary(t))
	bed.Must(t, err)
	if got := float64(info.Size()) / 1e6; runtime.GOOS+"/"+runtime.GOARCH == "linux/amd64" && math.Abs(got-float64(want)) > 1.5 {
		t.Errorf("the binary weighs %.1f MB, docs/deploy.md says %d MB", got, want)
	}
}

// The workflow and the manual name one version of GoReleaser.
func TestOneVersionOfGoReleaser(t *testing.T) {
	pinned := regexp.MustCompile(`(?m)^ +version: (v[\d.]+)$`).FindSubmatch(bed.Read(t, ".github/workflows/release.yml"))
	if pinned == nil {
		t.Fatal("the workflow pins no version")
	}
	if named := "goreleaser/v2@" + string(pinned[1]) + " "; !strings.Contains(string(bed.Read(t, "CONTRIBUTING.md")), named) {
		t.Errorf("CONTRIBUTING.md does not name %s", named)
	}
}

func TestManualPagesAreSound(t *testing.T) {
	written, err := filepath.Glob(filepath.Join(bed.Release(t), "man/*.1.gz"))
	bed.Must(t, err)
	if len(written) < 40 {
		t.Fatalf("%d pages", len(written))
	}
	dir, lint := t.TempDir(), []string{bed.Tool(t, "mandoc"), "-T", "lint", "-W", "error"}
	for _, page := range written {
		text := bed.Run(t, nil, "gzip", "--decompress", "--stdout", page)
		if strings.Contains(text, bed.Root(t)) || strings.Contains(text, os.TempDir()) {
			t.Errorf("%s names a path of the machine that made it", page)
		}
		lint = append(lint, filepath.Join(dir, strings.TrimSuffix(filepath.Base(page), ".gz")))
		bed.Must(t, os.WriteFile(lint[len(lint)-1], []byte(text), 0o644))
	}
	bed.Run(t, nil, lint...)
}
