package kubernetes_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/cronce/cronce/deploy/test/bed"
)

func kustomized(t *testing.T, dir string) manifests {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(bed.Root(t), "deploy/kubernetes", dir))
	bed.Must(t, err)
	text, err := built.AsYaml()
	bed.Must(t, err)
	return gather(t, bytes.Split(text, []byte("\n---\n")))
}

func TestKustomize(t *testing.T) {
	for dir, want := range map[string]string{
		"base":                "[ConfigMap Deployment NetworkPolicy PodDisruptionBudget Service ServiceAccount]",
		"overlays/production": "[ConfigMap Deployment Namespace NetworkPolicy PodDisruptionBudget Service ServiceAccount ServiceMonitor]",
		"overlays/pgbouncer":  "[ConfigMap Deployment NetworkPolicy PodDisruptionBudget Service ServiceAccount]", // and the pooler's
		"overlays/single":     "[ConfigMap Deployment NetworkPolicy PersistentVolumeClaim Service ServiceAccount]",
	} {
		t.Run(dir, func(t *testing.T) {
			m := kustomized(t, dir)
			if got := fmt.Sprint(m.kinds); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			m.hold(t)
		})
	}
}

// PgBouncer starts with the file of the overlay, and listens where the Service sends
// its clients.
func TestPgBouncerReadsItsSettings(t *testing.T) {
	program := bed.Tool(t, "/usr/sbin/pgbouncer")
	p := kustomized(t, "overlays/pgbouncer").pooler
	selects(t, p.pods, p.policies)
	restricted(t, p.pods)
	if len(p.policies) != 4 || !strings.Contains(p.settings, fmt.Sprintf("listen_port = %d\n", p.pods.Spec.Containers[0].Ports[0].ContainerPort)) {
		t.Errorf("%d selectors, and settings\n%s", len(p.policies), p.settings)
	}
	dir, err := os.MkdirTemp("", "cronce-pgbouncer-") //nolint:usetesting // another account reads it, and TempDir's parent is ours alone
	bed.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	bed.Must(t, os.Chmod(dir, 0o755))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	bed.Must(t, err)
	address := free.Addr().(*net.TCPAddr)
	free.Close()
	settings := strings.NewReplacer("listen_port = 6432", fmt.Sprintf("listen_port = %d", address.Port), "/etc/pgbouncer-users", dir).Replace(p.settings)
	bed.Must(t, os.WriteFile(filepath.Join(dir, "userlist.txt"), []byte(`"cronce" "secret"`+"\n"), 0o644))
	bed.Must(t, os.WriteFile(filepath.Join(dir, "pgbouncer.ini"), []byte(settings), 0o644))
	var out bytes.Buffer
	command := exec.CommandContext(t.Context(), program, filepath.Join(dir, "pgbouncer.ini"))
	command.Stdout, command.Stderr = &out, &out
	if os.Geteuid() == 0 { // it refuses to run as root
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	bed.Must(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	bed.Eventually(t, "PgBouncer to listen", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, out.String())
		default:
		}
		c, err := net.Dial("tcp", address.String())
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	bed.Must(t, command.Process.Kill())
	<-ended
}

// render is helm template.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	c, err := loader.Load(filepath.Join(bed.Root(t), "deploy/helm/cronce"))
	bed.Must(t, err)
	given, err := chartutil.ReadValues([]byte(values))
	bed.Must(t, err)
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "jobs", Namespace: "acme", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

const registryValues = `
registry: |
  version: 1
  name: acme
  jobs:
    - { id: a, schedule: "0 3 * * *", targetUrlEnv: ACME_URL, path: /a, body: { id: 9007199254740993, country: "NO" } }
`

const accessValues = `
access: |
  # the access file
  version: 1
  tokens:
    - { name: "me", role: admin, hash: "sha256:736b8b3420ffbd4f4cf5fb0ac270404ba133f322fc55221fc91771f22a3ed464" }
`

// Helm passes the registry on as it is, and says how to see the dashboard.
func TestHelmChangesNoTextAndShowsTheDashboard(t *testing.T) {
	for values, want := range map[string]string{"": "cronce access token me --role admin", accessValues: "port-forward service/jobs-cronce 9464"} {
		files, err := render(t, registryValues+values)
		bed.Must(t, err)
		m := gather(t, [][]byte{[]byte(files["cronce/templates/configmap.yaml"])})
		var given struct{ Registry, Access string }
		bed.Must(t, yaml.Unmarshal([]byte(registryValues+values), &given))
		if m.configs["jobs-cronce"] != given.Registry || m.access != given.Access {
			t.Errorf("the chart made of %+v: %q, %q", given, m.configs, m.access)
		}
		if notes := files["cronce/templates/NOTES.txt"]; !strings.Contains(notes, want) {
			t.Errorf("the notes have no %q:\n%s", want, notes)
		}
	}
}

func TestHelm(t *testing.T) {
	for name, tc := range map[string]struct{ values, want string }{
		"as it comes": {"", "[ConfigMap Deployment NetworkPolicy PodDisruptionBudget Service ServiceAccount]"},
		"everything": {`
replicas: 5
image: { repository: registry.acme/cronce, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" }
imagePullSecrets: [ { name: pull } ]
env: { CRONCE_MAX_IN_FLIGHT: "128" }
podAnnotations: { a: b }
podLabels: { team: payments }
nodeSelector: { disk: ssd }
tolerations: [ { key: dedicated, operator: Exists } ]
affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } }
priorityClassName: high
serviceAccount: { annotations: { a: b } }
serviceMonitor: { enabled: true, labels: { release: prometheus } }
prometheusRule: { enabled: true, labels: { release: prometheus } }
`, "[ConfigMap Deployment NetworkPolicy PodDisruptionBudget PrometheusRule Service ServiceAccount ServiceMonitor]"},
		"sqlite":        {"ledger: { engine: sqlite, volume: { storageClassName: fast } }\nreplicas: 1\n", "[ConfigMap NetworkPolicy Service ServiceAccount StatefulSet]"},
		"bare":          {"podDisruptionBudget: { enabled: false }\nnetworkPolicy: { enabled: false }\nexistingSecret: \"\"\nresources: {}\n", "[ConfigMap Deployment Service ServiceAccount]"},
		"access":        {accessValues, "[ConfigMap Deployment NetworkPolicy PodDisruptionBudget Service ServiceAccount]"},
		"own ConfigMap": {"existingRegistryConfigMap: mine\n", "[Deployment NetworkPolicy PodDisruptionBudget Service ServiceAccount]"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := render(t, registryValues+tc.values)
			bed.Must(t, err)
			var documents [][]byte
			for path, text := range files {
				if strings.HasSuffix(path, ".yaml") {
					documents = append(documents, []byte(text))
				}
			}
			m := gather(t, documents)
			if got := fmt.Sprint(m.kinds); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			m.hold(t)
		})
	}
}

func TestHelmRefuses(t *testing.T) {
	for values, why := range map[string]string{
		"": "give the registry",
		registryValues + "ledger: { engine: sqlite }\n":                     "one process",
		registryValues + "ledger: { engine: mysql }\n":                      "ledger",
		"registry: { version: 1, name: acme }\n":                            "registry",
		registryValues + accessValues + "existingRegistryConfigMap: mine\n": "your ConfigMap",
		registryValues + "replcas: 3\n":                                     "replcas",
		registryValues + "env: { CRONCE_MAX_IN_FLIGHT: 64 }\n":              "CRONCE_MAX_IN_FLIGHT",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", values, err, why)
		}
	}
}
