package deploy_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/cronce/cronce/deploy/test/bed"
)

func TestCompose(t *testing.T) {
	file := filepath.Join(bed.Root(t), "deploy/compose/compose.yaml")
	options, err := cli.NewProjectOptions([]string{file})
	bed.Must(t, err)
	project, err := options.LoadProject(t.Context())
	bed.Must(t, err)
	replicas := 0
	for _, s := range project.Services {
		for _, v := range s.Volumes {
			if v.Type != "bind" {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s mounts %s: %v", s.Name, v.Source, err)
			}
		}
		if s.Build == nil {
			continue
		}
		replicas++
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Error(err)
		}
		if !s.ReadOnly || s.StopGracePeriod == nil || s.StopGracePeriod.String() != "1m0s" {
			t.Errorf("%s: read-only %v, grace %v", s.Name, s.ReadOnly, s.StopGracePeriod)
		}
	}
	if replicas != 2 {
		t.Errorf("%d replicas", replicas)
	}
	bed.Run(t, nil, bed.Binary(t), "check", "--no-env", "--config", "deploy/compose/registry/cronce.yaml")
	theDashboard(t, project)
	if prometheus := string(bed.Read(t, "deploy/compose/prometheus.yaml")); !strings.Contains(prometheus, "cronce-1:9464") {
		t.Error("Prometheus does not scrape the replicas")
	}
}

// theDashboard is on this machine's loopback address alone, and takes the password that
// the file names.
func theDashboard(t *testing.T, project *types.Project) {
	t.Helper()
	const password = "for-this-machine-alone"
	one := project.Services["cronce-1"]
	if len(one.Ports) != 1 || one.Ports[0].HostIP != "127.0.0.1" || one.Ports[0].Published != "9464" || one.Ports[0].Target != 9464 {
		t.Fatalf("ports %+v", one.Ports)
	}
	if file := one.Environment["CRONCE_ACCESS"]; file == nil || *file != "/etc/cronce/access.yaml" || !strings.Contains(string(bed.Read(t, "deploy/compose/compose.yaml")), "password "+password) {
		t.Fatal("the dashboard has no access file, or the file does not name its password")
	}
	dir, address := t.TempDir(), freeAddress(t)
	config := filepath.Join(dir, "cronce.yaml")
	bed.Must(t, os.WriteFile(config, []byte("version: 1\nname: compose\n"), 0o600))
	start(t, nil, bed.Binary(t), "serve", "--config", config, "--db", "sqlite:"+filepath.Join(dir, "l.db"), "--listen", address,
		"--access", filepath.Join(bed.Root(t), "deploy/compose/registry/access.yaml"))
	bed.Eventually(t, "the dashboard", func() bool { return status("http://me:"+password+"@"+address+"/") == http.StatusOK })
}
