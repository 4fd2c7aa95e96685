package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

const (
	// zoneCookie keeps the zone of a browser's times: a name, or jobZone. Without it they are UTC.
	zoneCookie = "cronce-zone"
	zoneFor    = 365 * 24 * time.Hour
	// jobZone is the choice that shows each time in the zone of its job.
	jobZone = "job"
)

// clock has the time at which a page is made, in UTC, and the zone in which the page shows times.
type clock struct {
	time.Time
	zone  *time.Location
	ofJob func(jobID string) *time.Location // nil: one zone for all times
}

// clockOf returns the clock of a request, as its browser has chosen.
func (d *Dashboard) clockOf(r *http.Request) clock {
	c := clock{d.now(), time.UTC, nil}
	switch choice := zoneChoice(r); choice {
	case "":
	case jobZone:
		c.ofJob = d.zoneOf
	default:
		if zone, err := schedule.Zone(choice); err == nil {
			c.zone = zone
		}
	}
	return c
}

// zoneChoice returns the zone that the browser has chosen: "" for UTC, a name, or jobZone. It need not be valid: a
// cookie can have any text.
func zoneChoice(r *http.Request) string {
	c, err := r.Cookie(zoneCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// zoneOf returns the zone of a job of the registry, or of a schedule's template; otherwise UTC.
func (d *Dashboard) zoneOf(jobID string) *time.Location {
	if j, found := d.registry().Job(jobID); found {
		return j.ParsedSchedule().Location()
	}
	t, _ := d.registry().Template(cmp.Or(ledger.TemplateOf(jobID), jobID))
	zone, err := schedule.Zone(cmp.Or(t.Timezone, "UTC"))
	if err != nil {
		return time.UTC
	}
	return zone
}

// Of returns the clock for the times of a job.
func (c clock) Of(jobID string) clock {
	if c.ofJob != nil && jobID != "" {
		c.zone, c.ofJob = c.ofJob(jobID), nil
	}
	return c
}

// ofSchedule does what Of does for a job that was read already, such as a schedule made at run time.
func (c clock) ofSchedule(j *jobs.Job) clock {
	if c.ofJob != nil && j != nil {
		c.zone, c.ofJob = j.ParsedSchedule().Location(), nil
	}
	return c
}

// Name returns the name of the zone.
func (c clock) Name() string { return c.zone.String() }

// clockLayout has the seconds of the times that are not whole minutes.
func clockLayout(t time.Time) string {
	if t.Second() == 0 {
		return "15:04 MST"
	}
	return "15:04:05 MST"
}

// exact writes a time to the second with its zone, as sentences have it.
func (c clock) exact(t time.Time) string { return c.format(t, "2006-01-02 15:04:05 MST") }

func (c clock) format(t time.Time, layout string) string { return t.In(c.zone).Format(layout) }

// rewritten is exact for a time that package operations has written as text.
func (c clock) rewritten(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return c.exact(t)
}

// zoneMenu is the choice of the zone below each page.
type zoneMenu struct {
	Choice string
	Zones  []string // those of the jobs, and the chosen one
	Back   string   // the page to return to
}

// zoneMenu returns the zones of the registry's jobs, and the one that is chosen, which may be any other.
func (d *Dashboard) zoneMenu(r *http.Request) zoneMenu {
	m := zoneMenu{Choice: zoneChoice(r), Back: "/"}
	if r.Method == http.MethodGet {
		m.Back = r.URL.RequestURI()
	}
	for _, j := range d.registry().All() {
		m.Zones = append(m.Zones, j.Timezone)
	}
	if name := d.clockOf(r).Name(); name != "UTC" {
		m.Zones = append(m.Zones, name)
	}
	slices.Sort(m.Zones)
	m.Zones = slices.DeleteFunc(slices.Compact(m.Zones), func(name string) bool { return name == "" || name == "UTC" })
	return m
}

// chooseZone keeps the zone of a browser's times in a cookie, and leads back to the page of the form. It accepts only
// paths of this server for that: a form of another site could otherwise send people elsewhere.
func (d *Dashboard) chooseZone(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	choice, back := r.PostFormValue("zone"), r.PostFormValue("back")
	if _, err := schedule.Zone(choice); err != nil && choice != jobZone && choice != "" {
		d.serve(w, r, func(*http.Request) (view, error) {
			return view{}, invalid("Unknown time zone \""+choice+"\".", "Choose one in the list below the page, or write a name of the IANA database, such as Europe/Berlin.")
		})
		return
	}
	if u, err := url.Parse(back); err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(back, "/") || strings.ContainsAny(back, "\\") {
		back = "/"
	}
	keep := zoneFor
	if choice == "" || choice == "UTC" {
		keep = -time.Second
	}
	http.SetCookie(w, &http.Cookie{
		Name: zoneCookie, Value: choice, Path: "/", MaxAge: int(keep / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// readInZone gives the times in an address their offset, so that the page, its exports and its
// commands mean the same. The address may name the zone in which its times were written, so
// that it means the same to another reader; without one they are UTC.
func (d *Dashboard) readInZone(r *http.Request) *http.Request {
	q, shown := r.URL.Query(), d.clockOf(r)
	written, err := schedule.Zone(cmp.Or(q.Get("zone"), "UTC"))
	if err != nil || written == time.UTC && shown.zone == time.UTC {
		return r
	}
	if written != time.UTC {
		shown.zone = written
	}
	read := operations.ParseTime
	if action := strings.TrimPrefix(r.URL.Path, actionsPath); action == operations.AddPause || action == operations.ChangePause {
		read = operations.ParseTimeAhead
	}
	for _, name := range []string{"since", "until", "from", "to"} {
		text := strings.TrimSpace(q.Get(name))
		if t, ok := read(text, shown.Time, written); ok && !operations.IsAge(text) {
			q.Set(name, shown.format(t, time.RFC3339))
		}
	}
	q.Del("zone")
	out := r.Clone(r.Context())
	out.URL.RawQuery = q.Encode()
	return out
}
