package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"

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
	if prometheus := string(bed.Read(t, "deploy/compose/prometheus.yaml")); !strings.Contains(prometheus, "cronce-1:9464") {
		t.Error("Prometheus does not scrape the replicas")
	}
}
