package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// firstJob holds the values of a new registry.
type firstJob struct {
	name, id, schedule, timezone, urlEnv, path string
}

func (a *app) initCommand() *cobra.Command {
	var f firstJob
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a registry with a first job",
		Long: `init writes a commented registry with one job into the file of --config, which
must not exist. On a terminal it asks for each value that no flag gives;
otherwise it takes the defaults.

The first line names the JSON schema, so that editors complete and check the
file.`,
		Example: `  cronce init
  cronce init --name acme-billing --job close-day --schedule "0 3 * * *" --timezone Europe/London --url-env BILLING_URL --path /v1/admin/close-day`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.initRegistry(c.Context(), c, f) },
	}
	c.Flags().StringVar(&f.name, "name", "", "the registry's `name`, which identifies the caller of every key and never "+
		"changes (default the directory's)")
	c.Flags().StringVar(&f.id, "job", "example", "the job's `id`")
	c.Flags().StringVar(&f.schedule, "schedule", "0 3 * * *", "the job's schedule, an `expression`")
	c.Flags().StringVar(&f.timezone, "timezone", "UTC", "the schedule's `zone`")
	c.Flags().StringVar(&f.urlEnv, "url-env", "SERVICE_URL", "the `variable` that holds the service's base URL")
	c.Flags().StringVar(&f.path, "path", "/v1/admin/example", "the `path` that the job calls")
	return c
}

// initRegistry writes the file. It refuses an existing one before it asks, so that nobody answers in vain.
func (a *app) initRegistry(ctx context.Context, c *cobra.Command, f firstJob) error {
	if a.Config == "-" {
		return command.Usage("init writes a file; name it with --config, e.g. --config cronce.yaml")
	}
	if _, err := os.Lstat(a.Config); !errors.Is(err, fs.ErrNotExist) {
		return command.Usage("%s exists and is not overwritten; name another file with --config", a.Config)
	}
	if f.name == "" {
		f.name = directoryName()
	}
	if a.Asks() {
		if err := f.ask(a.Asker(ctx), c.Flags().Changed); err != nil {
			return err
		}
	}
	if err := f.check(); err != nil {
		return command.Usage("%w", err)
	}
	if err := writeNew(a.Config, f.registry()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "wrote %s\nnext: export %s=https://... && cronce check --config %[1]s\n", a.Config, f.urlEnv)
	return err
}

// directoryName returns the working directory's name, or a default if that cannot name a registry.
func directoryName() string {
	if dir, err := os.Getwd(); err == nil {
		if _, err := jobs.NewRegistry(jobs.Name(filepath.Base(dir))); err == nil {
			return filepath.Base(dir)
		}
	}
	return "acme-platform"
}

// ask asks for each value that no flag gives. An answer is checked as a part of the whole file, so the errors are those
// of check.
func (f *firstJob) ask(q *command.Asker, given func(flag string) bool) error {
	for _, question := range []struct {
		flag, text string
		value      *string
	}{
		{"name", "Name of the registry; it identifies the caller of every key, so it never changes", &f.name},
		{"job", "Id of the first job", &f.id},
		{"timezone", "Time zone of its schedule", &f.timezone},
		{"schedule", "Its schedule: minute hour day-of-month month day-of-week", &f.schedule},
		{"url-env", "Environment variable with the base URL of the service", &f.urlEnv},
		{"path", "Path that the job calls with POST", &f.path},
	} {
		if given(question.flag) {
			continue
		}
		answer, err := q.Ask(question.text, *question.value, func(answer string) error {
			before := *question.value
			*question.value = answer
			err := f.check()
			*question.value = before
			return err
		})
		if err != nil {
			return err
		}
		*question.value = answer
		if question.flag == "schedule" {
			if s, err := schedule.Parse(f.schedule, f.timezone, ""); err == nil {
				fmt.Fprintf(q.Out, "  (%s)\n", s.Describe())
			}
		}
	}
	return nil
}

// check says what is wrong with the answers so far, without places in a file that
// nobody has seen.
func (f *firstJob) check() error {
	_, err := jobs.Parse("", []byte(f.registry()))
	var problems jobs.Problems
	if errors.As(err, &problems) {
		return errors.New(problems[0].Message)
	}
	return err
}

// registry returns the text of the file. Values are quoted, so that no answer can change the structure of the YAML.
func (f *firstJob) registry() string {
	return strings.NewReplacer(
		"<schema>", jobs.SchemaURL, "<name>", strconv.Quote(f.name), "<id>", strconv.Quote(f.id), "<schedule>", strconv.Quote(f.schedule),
		"<zone>", strconv.Quote(f.timezone), "<variable>", strconv.Quote(f.urlEnv), "<path>", strconv.Quote(f.path),
	).Replace(newRegistry)
}

const newRegistry = `# yaml-language-server: $schema=<schema>
# The registry of cronce: which HTTP calls are due when. "cronce check" validates it; docs/registry.md has every field.
version: 1
# Targets know the caller of each idempotency key by this name. Never change it.
name: <name>
targets:
  service:
    # The environment variable that holds the base URL.
    urlEnv: <variable>
    # auth: { type: bearer, token: { env: SERVICE_TOKEN } }   # or oauth2, basic, headers, jwt, hmac, sigv4
jobs:
  # The id is part of every run ID, so a new id is a new job.
  - id: <id>
    # Always in quotes; "cronce next" prints the next scheduled times.
    schedule: <schedule>
    timezone: <zone>
    target: service
    path: <path>
    # What follows are the defaults.
    # method: POST
    # timeout: 30s                 # of one attempt
    # retry: { backoff: [500ms, 2s, 5s, 30s] }   # every attempt has the same Idempotency-Key
    # overlap: skip                # skip, queue or allow a run while the last one works
    # catchUp: latest              # none, latest or all of the scheduled times that were planned late
    # body: { full: true }         # JSON; default { jobId, runId, scheduledAt }
`
