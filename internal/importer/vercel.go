package importer

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/schedule"
)

// vercelCron is an entry of crons in vercel.json.
type vercelCron struct {
	Path     *string `json:"path"`
	Schedule string  `json:"schedule"`
}

// vercel reads the crons of vercel.json. Vercel calls the production deployment with
// GET, in UTC, with the variable CRON_SECRET as bearer token.
func (b *builder) vercel(files []File) error {
	return each(files, func(o object, cron vercelCron) error {
		if cron.Path == nil {
			return fmt.Errorf("%s:%d: no crons; vercel.json lists them as \"crons\": [{ \"path\", \"schedule\" }]", o.file, o.line)
		}
		e := &entry{file: o.file, line: o.line}
		b.take(e, e.vercelCron(cron))
		return nil
	}, "crons")
}

func (e *entry) vercelCron(cron vercelCron) error {
	if _, err := schedule.Parse(cron.Schedule, "UTC", ""); err != nil {
		return err
	}
	e.job.schedule, e.job.timezone, e.job.overlap = cron.Schedule, "UTC", "allow"
	e.call.method = "GET"
	// vercel.json has no host. Of the variable's value only the base URL is needed.
	e.call.url = word{{"VERCEL_PROJECT_URL", true}, {text: "/" + strings.TrimLeft(*cron.Path, "/")}}
	e.header("Authorization", word{{text: "Bearer "}, {"CRON_SECRET", true}})
	e.noRetries()
	e.noteOverlap()
	e.note(Headers, "User-Agent is not vercel-cron/1.0, and x-vercel-cron headers are not sent")
	e.note(Times, "Vercel's plans may fire within the minute or hour; cronce fires at the scheduled time")
	e.note(Network, "Vercel calls the production deployment; set VERCEL_PROJECT_URL to its address")
	return nil
}
