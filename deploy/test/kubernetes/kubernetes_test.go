package kubernetes_test

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/cronce/cronce/deploy/test/bed"
)

// object reads one manifest as the API server does that refuses unknown fields.
func object(t *testing.T, manifest []byte) any {
	t.Helper()
	var head meta.TypeMeta
	bed.Must(t, yaml.Unmarshal(manifest, &head))
	into, ok := map[string]any{
		"v1 ServiceAccount": &core.ServiceAccount{}, "v1 ConfigMap": &core.ConfigMap{}, "v1 Service": &core.Service{},
		"v1 Namespace": &core.Namespace{}, "v1 PersistentVolumeClaim": &core.PersistentVolumeClaim{},
		"apps/v1 Deployment": &apps.Deployment{}, "apps/v1 StatefulSet": &apps.StatefulSet{},
		"policy/v1 PodDisruptionBudget": &policy.PodDisruptionBudget{}, "networking.k8s.io/v1 NetworkPolicy": &networking.NetworkPolicy{},
		"monitoring.coreos.com/v1 ServiceMonitor": &monitoring.ServiceMonitor{}, "monitoring.coreos.com/v1 PrometheusRule": &monitoring.PrometheusRule{},
	}[head.APIVersion+" "+head.Kind]
	if !ok {
		t.Fatalf("no type for %s %s:\n%s", head.APIVersion, head.Kind, manifest)
	}
	if err := yaml.UnmarshalStrict(manifest, into); err != nil {
		t.Fatalf("%s: %v\n%s", head.Kind, err, manifest)
	}
	return into
}

// manifests are the objects of one rendering.
type manifests struct {
	kinds    []string
	pods     core.PodTemplateSpec
	selector *meta.LabelSelector
	replicas int32
	configs  map[string]string // cronce.yaml by the ConfigMap's name
	claims   []string          // volume claims, by the name of the pod's volume
	policies []meta.LabelSelector
	pooler   *pooler
}

// pooler is what a PgBouncer in front of the ledger consists of.
type pooler struct {
	settings string // pgbouncer.ini
	pods     core.PodTemplateSpec
	policies []meta.LabelSelector
}

func gather(t *testing.T, documents [][]byte) (m manifests) {
	t.Helper()
	m.configs = map[string]string{}
	for _, d := range documents {
		if len(bytes.TrimSpace(d)) == 0 || m.gatherPooler(object(t, d)) {
			continue
		}
		switch o := object(t, d).(type) {
		case *apps.Deployment:
			m.pods, m.selector, m.replicas = o.Spec.Template, o.Spec.Selector, *o.Spec.Replicas
		case *apps.StatefulSet:
			m.pods, m.selector, m.replicas = o.Spec.Template, o.Spec.Selector, *o.Spec.Replicas
			for _, claim := range o.Spec.VolumeClaimTemplates {
				m.claims = append(m.claims, claim.Name)
			}
		case *core.ConfigMap:
			m.configs[o.Name] = o.Data["cronce.yaml"]
		case *policy.PodDisruptionBudget:
			m.policies = append(m.policies, *o.Spec.Selector)
		case *networking.NetworkPolicy:
			m.policies = append(m.policies, o.Spec.PodSelector)
		case *monitoring.ServiceMonitor:
			m.policies = append(m.policies, o.Spec.Selector)
		}
		var head meta.TypeMeta
		bed.Must(t, yaml.Unmarshal(d, &head))
		m.kinds = append(m.kinds, head.Kind)
	}
	slices.Sort(m.kinds)
	return m
}

// gatherPooler takes what belongs to PgBouncer.
func (m *manifests) gatherPooler(o any) bool {
	named, ok := o.(meta.Object)
	if !ok || !strings.HasPrefix(named.GetName(), "pgbouncer") {
		return false
	}
	if m.pooler == nil {
		m.pooler = &pooler{}
	}
	switch o := o.(type) {
	case *apps.Deployment:
		m.pooler.pods = o.Spec.Template
		m.pooler.policies = append(m.pooler.policies, *o.Spec.Selector)
	case *core.ConfigMap:
		m.pooler.settings = o.Data["pgbouncer.ini"]
	case *core.Service:
		m.pooler.policies = append(m.pooler.policies, meta.LabelSelector{MatchLabels: o.Spec.Selector})
	case *policy.PodDisruptionBudget:
		m.pooler.policies = append(m.pooler.policies, *o.Spec.Selector)
	case *networking.NetworkPolicy:
		m.pooler.policies = append(m.pooler.policies, o.Spec.PodSelector)
	}
	return true
}

// hold checks what holds for each rendering: the pods are restricted, probed,
// selected, stopped patiently, and mount what they read.
func (m manifests) hold(t *testing.T) {
	t.Helper()
	if m.selector == nil || len(m.pods.Spec.Containers) != 1 {
		t.Fatalf("no workload with one container among %v", m.kinds)
	}
	selects(t, m.pods, append(m.policies, *m.selector))
	restricted(t, m.pods)
	spec, c := m.pods.Spec, m.pods.Spec.Containers[0]
	if c.LivenessProbe == nil || c.LivenessProbe.HTTPGet.Path != "/healthz" || c.StartupProbe == nil || c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Error("a probe is missing")
	}
	if *spec.TerminationGracePeriodSeconds < 2*25+3 {
		t.Errorf("a stop may take 53 s, and has %d", *spec.TerminationGracePeriodSeconds)
	}
	volumes := map[string]bool{}
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
		if v.ConfigMap != nil && m.configs != nil && len(m.configs) > 0 && m.configs[v.ConfigMap.Name] == "" {
			t.Errorf("no ConfigMap %s among %v", v.ConfigMap.Name, slices.Collect(maps.Keys(m.configs)))
		}
	}
	for _, mount := range c.VolumeMounts {
		if !volumes[mount.Name] && !slices.Contains(m.claims, mount.Name) {
			t.Errorf("no volume %s", mount.Name)
		}
		if mount.SubPath != "" {
			t.Errorf("%s is mounted by a subPath, which does not see changes", mount.Name)
		}
	}
	m.holdSettings(t, c)
}

func selects(t *testing.T, pods core.PodTemplateSpec, selectors []meta.LabelSelector) {
	t.Helper()
	for _, s := range selectors {
		for name, value := range s.MatchLabels {
			if pods.Labels[name] != value {
				t.Errorf("a selector wants %s=%s, and the pods have %v", name, value, pods.Labels)
			}
		}
		if len(s.MatchLabels) == 0 {
			t.Error("a selector selects everything")
		}
	}
}

func restricted(t *testing.T, pods core.PodTemplateSpec) {
	t.Helper()
	spec := pods.Spec
	security, pod := spec.Containers[0].SecurityContext, spec.SecurityContext
	if security == nil || pod == nil || !*security.ReadOnlyRootFilesystem || *security.AllowPrivilegeEscalation || !slices.Contains(security.Capabilities.Drop, "ALL") ||
		!*pod.RunAsNonRoot || *pod.RunAsUser == 0 || pod.SeccompProfile == nil || *spec.AutomountServiceAccountToken {
		t.Errorf("the pods are not restricted: %+v %+v", security, pod)
	}
}

// holdSettings lets the binary judge the registry and every CRONCE_ variable.
func (m manifests) holdSettings(t *testing.T, c core.Container) {
	t.Helper()
	manual := string(bed.Read(t, "docs/operations.md"))
	sqlite := false
	for _, e := range c.Env {
		if strings.HasPrefix(e.Name, "CRONCE_") && !strings.Contains(manual, "`"+e.Name+"`") {
			t.Errorf("serve has no variable %s", e.Name)
		}
		sqlite = sqlite || strings.HasPrefix(e.Value, "sqlite:")
	}
	if sqlite && m.replicas > 1 {
		t.Error("several replicas of an SQLite ledger")
	}
	for _, text := range m.configs {
		config := filepath.Join(t.TempDir(), "cronce.yaml")
		bed.Must(t, os.WriteFile(config, []byte(text), 0o600))
		bed.Run(t, nil, bed.Binary(t), "check", "--no-env", "--config", config)
	}
}

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
registry:
  version: 1
  name: acme
  jobs:
    - { id: a, schedule: "0 3 * * *", targetUrlEnv: ACME_URL, path: /a }
`

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
		registryValues + "ledger: { engine: sqlite }\n":        "one process",
		registryValues + "ledger: { engine: mysql }\n":         "ledger",
		registryValues + "replcas: 3\n":                        "replcas",
		registryValues + "env: { CRONCE_MAX_IN_FLIGHT: 64 }\n": "CRONCE_MAX_IN_FLIGHT",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", values, err, why)
		}
	}
}
