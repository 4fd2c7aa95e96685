package kubernetes_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	access   string            // access.yaml
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
			m.configs[o.Name], m.access = o.Data["cronce.yaml"], o.Data["access.yaml"]
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
	if asked := slices.Contains(c.Env, core.EnvVar{Name: "CRONCE_ACCESS", Value: "/etc/cronce/access.yaml"}); asked != (m.access != "") {
		t.Errorf("CRONCE_ACCESS is set: %v; the access file is %q", asked, m.access)
	}
	if m.access != "" {
		file := filepath.Join(t.TempDir(), "access.yaml")
		bed.Must(t, os.WriteFile(file, []byte(m.access), 0o600))
		bed.Run(t, nil, bed.Binary(t), "access", "check", file)
	}
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
