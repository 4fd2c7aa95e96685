package importer

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/schedule"
)

// manifest is what the importer reads of a CronJob, or of a List of them.
type manifest struct {
	Kind     string `yaml:"kind"`
	Metadata struct {
		Name        string            `yaml:"name"`
		Namespace   string            `yaml:"namespace"`
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Items []item      `yaml:"items"`
	Spec  cronJobSpec `yaml:"spec"`
}

// item is a manifest in a List, and the line on which it begins.
type item struct {
	manifest
	line int
}

func (i *item) UnmarshalYAML(node ast.Node) error {
	i.line = node.GetToken().Position.Line
	return yaml.NodeToValue(node, &i.manifest)
}

type cronJobSpec struct {
	Schedule                string `yaml:"schedule"`
	TimeZone                string `yaml:"timeZone"`
	Suspend                 bool   `yaml:"suspend"`
	ConcurrencyPolicy       string `yaml:"concurrencyPolicy"`
	StartingDeadlineSeconds *int64 `yaml:"startingDeadlineSeconds"`
	JobTemplate             struct {
		Spec struct {
			BackoffLimit          *int   `yaml:"backoffLimit"`
			ActiveDeadlineSeconds *int64 `yaml:"activeDeadlineSeconds"`
			Parallelism           *int   `yaml:"parallelism"`
			Completions           *int   `yaml:"completions"`
			Template              struct {
				Spec podSpec `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	} `yaml:"jobTemplate"`
}

type podSpec struct {
	ActiveDeadlineSeconds *int64      `yaml:"activeDeadlineSeconds"`
	InitContainers        []container `yaml:"initContainers"`
	Containers            []container `yaml:"containers"`
}

type container struct {
	Image   string     `yaml:"image"`
	Command []string   `yaml:"command"`
	Args    []string   `yaml:"args"`
	Env     []envVar   `yaml:"env"`
	EnvFrom []struct{} `yaml:"envFrom"`
}

type envVar struct {
	Name      string  `yaml:"name"`
	Value     *string `yaml:"value"`
	ValueFrom struct {
		Secret *keyRef `yaml:"secretKeyRef"`
		Config *keyRef `yaml:"configMapKeyRef"`
	} `yaml:"valueFrom"`
}

type keyRef struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key"`
}

func (b *builder) kubernetes(files []File) error {
	const without = "kubectl get cronjobs -o yaml prints manifests without them"
	return eachDocument(files, without, func(f File, line int, body ast.Node) error {
		var m manifest
		if err := yaml.NodeToValue(body, &m); err != nil {
			return fmt.Errorf("%s:%d: not a manifest; the importer reads CronJobs, as kubectl get cronjobs -o yaml prints them", f.Name, line)
		}
		b.manifest(f.Name, line, m)
		return nil
	})
}

// manifest reads a CronJob, or each in a List. Another kind is refused, and does not end the import.
func (b *builder) manifest(file string, line int, m manifest) {
	if strings.HasSuffix(m.Kind, "List") {
		for _, item := range m.Items {
			b.manifest(file, item.line, item.manifest)
		}
		return
	}
	e := &entry{file: file, line: line, name: m.Metadata.Name}
	if m.Kind != "CronJob" {
		b.refuse(e, fmt.Errorf("the kind %q is not CronJob; the importer reads CronJobs", printable(m.Kind)))
		return
	}
	b.take(e, b.cronJob(e, m))
}

func (b *builder) cronJob(e *entry, m manifest) error {
	spec := m.Spec
	e.job.schedule, e.job.timezone = spec.Schedule, cmp.Or(spec.TimeZone, b.options.Timezone)
	e.job.dst = string(schedule.DSTWall) // as the controller of CronJobs fires
	s, err := schedule.Parse(spec.Schedule, e.job.timezone, schedule.DSTWall)
	if err != nil {
		return err
	}
	e.job.timezone = s.Location().String()
	e.noteCronJob(spec, s)
	e.label(m.Metadata.Labels)
	e.annotate(m.Metadata.Annotations)
	e.job.disabled = e.job.disabled || spec.Suspend
	pod := spec.JobTemplate.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.InitContainers) > 0 {
		return fmt.Errorf("the pod has %s and %s; cronce imports a single container that runs curl or wget",
			plural.Of(len(pod.Containers), "container"), plural.Of(len(pod.InitContainers), "init container"))
	}
	if err := e.container(m.Metadata.Namespace, pod.Containers[0]); err != nil {
		return err
	}
	e.podRetries(spec.JobTemplate.Spec.BackoffLimit)
	return nil
}

// noteCronJob takes over the policies of a CronJob, and says where cronce's differ.
func (e *entry) noteCronJob(spec cronJobSpec, s *schedule.Schedule) {
	if spec.TimeZone == "" && !strings.Contains(spec.Schedule, "TZ=") {
		e.note(TimeZone,
			"without timeZone, the schedule is in the zone of the control plane, which the file does not say; the job has %s "+
				"(--timezone sets another)", e.job.timezone)
	}
	if strings.HasPrefix(strings.TrimSpace(spec.Schedule), "@every") {
		e.note(Times, "@every counts from 1970-01-01T00:00:00Z, not from the last start")
	}
	if e.job.timezone != "UTC" && !strings.HasPrefix(s.String(), "@every") {
		e.note(ClockChange,
			"dst: wall keeps the source's times: none in the hour that is skipped, both in the hour that is repeated; once, the "+
				"default, fires one time in each")
	}
	switch spec.ConcurrencyPolicy {
	case "Forbid":
		e.job.overlap = "skip"
		e.note(Overlaps, "concurrencyPolicy Forbid starts the latest time that it held back once the running pod ends, within "+
			"startingDeadlineSeconds; the job skips it")
	case "Replace":
		e.job.overlap = "skip"
		e.note(Overlaps, "concurrencyPolicy Replace stops the running pod; cronce never stops a call, so the job skips the new run")
	default:
		e.job.overlap = "allow"
		e.noteOverlap()
	}
	e.job.catchUp = "latest"
	switch d := spec.StartingDeadlineSeconds; {
	case d != nil && *d > 0:
		e.job.catchUpWindow = time.Duration(min(*d, 366*24*3600)) * time.Second // a larger number could overflow
	case d != nil:
		e.job.catchUp = "none"
		e.note(MissedTimes,
			"startingDeadlineSeconds %d: Kubernetes starts no run that is late, and its controller is late by itself; the job runs on "+
				"time, and never late (catchUp: none)", *d)
	default:
		e.note(MissedTimes,
			"without startingDeadlineSeconds, Kubernetes starts a missed run however late it is; cronce does for 24h (catchUpWindow)")
	}
	job := spec.JobTemplate.Spec
	if none := func(n *int) bool { return n != nil && *n == 0 }; none(job.Completions) || none(job.Parallelism) {
		e.job.disabled = true
		e.note(Effects, "completions or parallelism is 0, so Kubernetes starts no pod; the job is disabled")
	} else if n := job.Completions; n != nil && *n > 1 {
		e.note(Effects, "completions: %d; cronce makes one call per scheduled time", *n)
	} else if n := job.Parallelism; n != nil && *n > 1 {
		e.note(Effects, "parallelism: %d; cronce makes one call per scheduled time", *n)
	}
	for _, d := range []*int64{job.ActiveDeadlineSeconds, job.Template.Spec.ActiveDeadlineSeconds} {
		switch {
		case d != nil && *d > 0:
			e.limit(time.Duration(min(*d, 30*24*3600)) * time.Second) // the registry's maximum
		case d != nil:
			e.note(Timeout, "activeDeadlineSeconds %d: Kubernetes ends each pod at once; the job does not take it over", *d)
		}
	}
}
