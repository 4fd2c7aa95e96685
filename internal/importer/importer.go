// Package importer turns the schedules of other schedulers into a registry. It is
// pure: the bytes of files come in, the text of a registry and a list of differences
// come out. Nothing is dropped silently: what the registry cannot express is a
// Difference with its file and line.
//
// No secret leaves the package. What looks like one becomes a reference to an
// environment variable, or keeps its job out of the registry; neither the registry
// nor a difference repeats its value.
package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// Source is the kind of scheduler that files are from.
type Source string

// The sources, by the name of their command.
const (
	Crontab        Source = "crontab"         // crontab files, of a user or of the system
	Kubernetes     Source = "kubernetes"      // CronJob manifests, YAML or JSON
	EventBridge    Source = "eventbridge"     // JSON of the AWS CLI
	CloudScheduler Source = "cloud-scheduler" // JSON of gcloud scheduler jobs list or describe
	Vercel         Source = "vercel"          // vercel.json
	PgCron         Source = "pg-cron"         // SQL that calls cron.schedule, or rows of cron.job as JSON
	GitHubActions  Source = "github-actions"  // workflows; every schedule is refused, with the reason
)

// MaxFileSize is how large a file may be.
const MaxFileSize = jobs.MaxFileSize

// File is one source file.
type File struct {
	Name string // for messages
	Data []byte
}

// Options say what the files do not.
type Options struct {
	Name     string // the registry's name, required
	Timezone string // zone of schedules that state none; default UTC
	System   bool   // crontab: lines have a user after the schedule, as in /etc/crontab
}

// Difference is one way in which the registry will not do what its source did.
type Difference struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // from 1; 0: the file as a whole
	Job    string `json:"job,omitempty"`  // empty: no job of the registry
	Aspect Aspect `json:"aspect"`
	Text   string `json:"text"`
}

// Place is the difference's file and line.
func (d Difference) Place() string {
	if d.Line == 0 {
		return d.File
	}
	return fmt.Sprintf("%s:%d", d.File, d.Line)
}

// Aspect is what a difference concerns.
type Aspect string

// The aspects of a difference.
const (
	NotImported Aspect = "not imported" // the entry has no job in the registry
	Call        Aspect = "call"         // the job's call must be written by hand
	TimeZone    Aspect = "time zone"
	ClockChange Aspect = "DST"
	Times       Aspect = "times" // periods, starts, ends
	Overlaps    Aspect = "overlap"
	MissedTimes Aspect = "missed" // scheduled times that pass while nothing runs
	Retries     Aspect = "retries"
	Timeout     Aspect = "timeout"
	Headers     Aspect = "headers"
	Secrets     Aspect = "secrets" // values to set in the environment
	Body        Aspect = "body"
	Description Aspect = "description" // owner and labels too
	Network     Aspect = "network"     // TLS, proxies, redirects
	Output      Aspect = "output"
	Effects     Aspect = "effects"
)

// Result is an imported registry.
type Result struct {
	Registry    string       `json:"registry"` // the text of the file
	Differences []Difference `json:"differences"`
	Jobs        int          `json:"jobs"`    // jobs in the registry
	Refused     int          `json:"refused"` // entries that are not in it
}

// ErrNothing says that no entry of the files could be imported. The Result lists why.
var ErrNothing = errors.New("no entry could be imported")

// Import reads all files as one registry. The error is ErrNothing, or says which file
// cannot be read at all.
func Import(source Source, files []File, o Options) (Result, error) {
	if o.Timezone == "" {
		o.Timezone = "UTC"
	}
	if _, err := schedule.Parse("0 0 * * *", o.Timezone, ""); err != nil {
		return Result{}, err
	}
	b := &builder{options: o, ids: map[string]bool{jobs.PurgeJobID: true}, targetNames: map[string]bool{}, variables: map[string]string{},
		origins: map[string]string{}, locks: map[string][]Difference{}}
	for _, f := range files {
		if len(f.Data) > MaxFileSize {
			return Result{}, fmt.Errorf("%s has more than %d bytes; split it", f.Name, MaxFileSize)
		}
	}
	var err error
	switch source {
	case Crontab:
		for _, f := range files {
			b.crontab(f)
		}
		b.noteLocks()
	case Kubernetes:
		err = b.kubernetes(files)
	case EventBridge:
		err = b.eventBridge(files)
	case CloudScheduler:
		err = b.cloudScheduler(files)
	case Vercel:
		err = b.vercel(files)
	case PgCron:
		err = b.pgCron(files)
	case GitHubActions:
		err = b.gitHubActions(files)
	default:
		err = fmt.Errorf("unknown source %q", source)
	}
	if err != nil {
		return Result{}, err
	}
	return b.result(source)
}

func (b *builder) result(source Source) (Result, error) {
	r := Result{Differences: b.differences, Jobs: len(b.jobs), Refused: b.refused}
	if len(b.jobs) == 0 {
		return r, ErrNothing
	}
	r.Registry = b.render(source)
	if _, err := jobs.Parse("imported", []byte(r.Registry)); err != nil {
		return Result{}, fmt.Errorf("the imported registry is invalid; please report this with the file: %w", err)
	}
	return r, nil
}

// slug makes a job's id or a target's name of any text, "" if nothing of it can stay.
func slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '.' && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := b.String()
	return strings.Trim(s[:min(len(s), maxSlug)], "-.")
}

// maxSlug leaves room for a number behind it.
const maxSlug = 56

// variable makes the name of an environment variable of any text.
func variable(text string) string {
	name := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(slug(text)))
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	return name
}
