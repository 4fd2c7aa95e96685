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
	"slices"
	"strings"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// Source is the kind of scheduler that files are from, by the name of its command.
type Source string

// The sources.
const (
	Crontab        Source = "crontab"
	Kubernetes     Source = "kubernetes"
	EventBridge    Source = "eventbridge"
	CloudScheduler Source = "cloud-scheduler"
	Vercel         Source = "vercel"
	PgCron         Source = "pg-cron"
	GitHubActions  Source = "github-actions"
)

// Importer imports the files of a source.
type Importer struct {
	Source  Source
	Files   string // what they are
	Example string
	Zone    bool // its schedules may state no time zone
	read    func(*builder, []File) error
}

// Importers has an Importer for each Source.
var Importers = []Importer{
	{Crontab, "crontab files (- is standard input)", "  crontab -l | cronce import crontab --timezone Europe/London - > cronce.yaml\n" +
		"  cronce import crontab --system /etc/crontab /etc/cron.d/billing", true, (*builder).crontabs},
	{Kubernetes, "CronJob manifests, YAML or JSON", "  kubectl get cronjobs -o yaml | cronce import kubernetes - --to cronce.yaml\n" +
		"  cronce import kubernetes cronjob.yaml", true, (*builder).kubernetes},
	{EventBridge, "JSON that the AWS CLI printed", "  aws scheduler get-schedule --name nightly > nightly.json\n" +
		"  aws events list-rules > rules.json\n  aws events list-targets-by-rule --rule close-day > targets.json\n" +
		"  cronce import eventbridge nightly.json rules.json targets.json", false, (*builder).eventBridge},
	{CloudScheduler, "JSON that gcloud printed", "  gcloud scheduler jobs list --format=json | cronce import cloud-scheduler -", false,
		(*builder).cloudScheduler},
	{Vercel, "vercel.json", "  cronce import vercel vercel.json", false, (*builder).vercel},
	{PgCron, "SQL with cron.schedule, or rows of cron.job as JSON",
		"  psql -Atc 'select json_agg(j) from cron.job j' | cronce import pg-cron -\n  cronce import pg-cron supabase/migrations/*.sql", true,
		(*builder).pgCron},
	{GitHubActions, "workflows: none is imported, and a table says why",
		"  cronce import github-actions .github/workflows/*.yml", false, (*builder).gitHubActions},
}

// MaxFileSize is the maximum size of a file, in bytes: an export is several times as large
// as the registry that is made of it.
const MaxFileSize = 8 << 20

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

// Place returns the difference's file and line.
func (d Difference) Place() string {
	if d.Line == 0 {
		return d.File
	}
	return fmt.Sprintf("%s:%d", d.File, d.Line)
}

// Aspect names the side of a job that a difference concerns.
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
	b := &builder{options: o, ids: map[string]int{jobs.PurgeJobID: 1}, targetNames: map[string]int{}, variables: map[string]string{},
		origins: map[string]string{}, locks: map[string][]Difference{}, entries: map[string]string{}}
	for _, f := range files {
		if len(f.Data) > MaxFileSize {
			return Result{}, fmt.Errorf("%s has more than %d bytes; split it", f.Name, MaxFileSize)
		}
	}
	i := slices.IndexFunc(Importers, func(i Importer) bool { return i.Source == source })
	if i < 0 {
		return Result{}, fmt.Errorf("unknown source %q", source)
	}
	if err := Importers[i].read(b, files); err != nil {
		return Result{}, err
	}
	return b.result(source)
}

func (b *builder) result(source Source) (Result, error) {
	r := Result{Differences: b.differences, Jobs: len(b.jobs), Refused: b.refused}
	if len(b.jobs) == 0 {
		return r, ErrNothing
	}
	b.noteAlike()
	r.Differences, r.Registry = b.differences, b.render(source)
	if len(r.Registry) > jobs.MaxFileSize {
		return Result{}, fmt.Errorf("%d jobs make a registry of %d bytes, and the maximum is %d; import some of them, and make the "+
			"schedules of customers at run time (docs/schedules.md)", r.Jobs, len(r.Registry), jobs.MaxFileSize)
	}
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
