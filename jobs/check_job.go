package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/suggest"
	"github.com/cronce/cronce/schedule"
)

// methods that a call can have; the first is the default.
var methods = []string{"POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"}

// checkJobs returns the jobs with their defaults applied.
func (d *draft) checkJobs(p Platform, defaults Defaults) []registered {
	firsts := make(map[string]int, len(d.jobs))
	byDefault := only(d, "alarm", d.alarms)
	d.checkAlarm("alarm", byDefault)
	checked := make([]registered, 0, len(d.jobs)+1)
	for i, j := range d.jobs {
		path := jobPath(i)
		d.checkID(path+".id", j.ID, i, firsts)
		if j.Alarm != (Alarm{}) {
			d.checkAlarm(path+".alarm", j.Alarm.inherit(Alarm{}))
		}
		j.Alarm = j.Alarm.inherit(byDefault)
		d.checkAbout(path, j.About)
		j.About = j.About.inherit(defaults)
		d.checkContinuation(path+".retry", j.Retry)
		j = j.withDefaults(p)
		j.Target = d.checkTarget(path, j)
		j.TargetURLEnv = ""
		j.Body = d.checkBody(path+".body", j)
		d.checkJobHeaders(path+".headers", j)
		j.registry = d.made.name
		j.schedule = d.parseSchedule(path, j)
		d.checkCall(path, j)
		d.checkTimes(path, j)
		d.checkSpread(path+".spread", j)
		d.checkJobHeartbeat(path, j)
		checked = append(checked, registered{Job: j, at: i})
	}
	return checked
}

// checkID notes where each id stands first.
func (d *draft) checkID(path, id string, at int, firsts map[string]int) {
	first, twice := firsts[id]
	switch {
	case id == "":
		d.add(path, CodeMissingID, "the job has no id; add one, e.g. `id: release-commission-locks`")
		return
	case !ValidJobID(id):
		d.add(path, CodeBadID, "invalid id %s; an id has 1 to 64 of a-z, 0-9, dot, dash and underscore, and starts with a letter or digit", quoted(id))
	case id == PurgeJobID:
		d.add(path, CodeReservedID, "the id %q is reserved for the built-in purge; choose another (cleanup.schedule sets when the purge runs)", id)
	case twice:
		d.add(path, CodeDuplicateID, "duplicate id %q (first defined %s); rename one of the jobs", id, d.where(jobPath(first)+".id"))
	}
	if !twice {
		firsts[id] = at
	}
}

// withDefaults fills the zero fields and copies what the caller could still
// change.
func (j Job) withDefaults(p Platform) Job {
	setDefault(&j.Timezone, "UTC")
	setDefault(&j.DST, schedule.DSTOnce)
	setDefault(&j.Method, methods[0])
	setDefault(&j.Timeout, 30*time.Second)
	setDefault(&j.Overlap, OverlapSkip)
	setDefault(&j.CatchUp, CatchUpLatest)
	setDefault(&j.CatchUpWindow, 24*time.Hour)
	route, _, _ := strings.Cut(j.Path, "?")
	setDefault(&j.KeyScope, "route:"+j.Method+"_"+route)
	j.Scopes = slices.Clone(j.Scopes)
	j.Headers = maps.Clone(j.Headers)
	j.Retry = j.Retry.withDefaults()
	if j.Async != (Async{}) {
		setDefault(&j.Async.Poll, defaultPoll)
	}
	setDefault(&j.Retry.Horizon, Terms(j, p).Sum())
	return j
}

func (r Retry) withDefaults() Retry {
	if r.Backoff == nil {
		r.Backoff = []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 30 * time.Second}
	}
	r.Backoff = slices.Clone(r.Backoff)
	setDefault(&r.Jitter, 0.2)
	r.Jitter = max(r.Jitter, 0)
	setDefault(&r.MaxRetryAfter, 5*time.Minute)
	return r.continued()
}

// continued adds the waits that For asks for.
func (r Retry) continued() Retry {
	if r.For <= 0 {
		return r
	}
	setDefault(&r.MaxBackoff, defaultMaxBackoff)
	wait, sum := 250*time.Millisecond, time.Duration(0)
	for _, wait = range r.Backoff {
		sum += wait
	}
	for len(r.Backoff) <= maxBackoff {
		wait = min(max(2*wait, time.Millisecond), r.MaxBackoff)
		if sum += wait; sum > r.For {
			break
		}
		r.Backoff = append(r.Backoff, wait)
	}
	return r
}

// defaultMaxBackoff is the default of Retry.MaxBackoff.
const defaultMaxBackoff = 5 * time.Minute

// checkContinuation refuses a continuation that adds nothing, or too much.
func (d *draft) checkContinuation(path string, r Retry) {
	d.between(path+".for", r.For, 0, maxWait)
	d.between(path+".maxBackoff", r.MaxBackoff, 0, maxWait)
	if r.For == 0 && r.MaxBackoff != 0 {
		d.add(path+".maxBackoff", CodeNeedlessField, "maxBackoff belongs to for; add for, e.g. `for: 30m`, or remove it")
	}
	if r.For <= 0 || r.MaxBackoff < 0 {
		return
	}
	listed := Retry{Backoff: r.Backoff}.withDefaults().Backoff
	var sum, last time.Duration
	for _, last = range listed {
		sum += last
	}
	setDefault(&r.MaxBackoff, defaultMaxBackoff)
	switch whole := r.withDefaults().Backoff; {
	case r.For < sum:
		d.add(path+".for", CodeBadDuration, "for %s is shorter than the waits of backoff together, %s; set at least that, or remove for", r.For, sum)
	case r.MaxBackoff < last:
		d.add(path+".maxBackoff", CodeBadDuration, "maxBackoff %s is shorter than the last wait of backoff, %s; set at least that", r.MaxBackoff, last)
	case len(whole) > maxBackoff && len(listed) <= maxBackoff:
		d.add(path+".for", CodeOutOfRange, "for %s takes more than %d retries with waits of at most %s; raise maxBackoff", r.For, maxBackoff, r.MaxBackoff)
	}
}

// checkTarget returns the name of the job's target. A variable that a declared
// target has too means that target, so that the short form is never a way
// around its authorization.
func (d *draft) checkTarget(path string, j Job) string {
	switch {
	case j.Target != "" && j.TargetURLEnv != "":
		d.add(path+".targetUrlEnv", CodeTwoTargets, "the job has both target and targetUrlEnv; keep one")
	case j.Target == "" && j.TargetURLEnv == "":
		d.add(path+".target", CodeMissingTarget, "the job has no target; add `target: NAME` with a name from targets, or `targetUrlEnv: VARIABLE` with the variable that holds the base URL")
	case j.TargetURLEnv != "":
		return d.impliedTarget(path+".targetUrlEnv", j)
	default:
		if _, known := d.declared[j.Target]; !known {
			d.add(path+".target", CodeUnknownTarget, "unknown target %s; declare it in targets%s", quoted(j.Target), suggest.DidYouMean(j.Target, d.targetNames()))
		}
	}
	return j.Target
}

func (d *draft) impliedTarget(path string, j Job) string {
	d.checkVariable(path, "targetUrlEnv", j.TargetURLEnv, "the variable that holds the base URL")
	var same []string
	for _, t := range d.targets {
		if t.URLEnv == j.TargetURLEnv {
			same = append(same, t.Name)
		}
	}
	switch len(same) {
	case 0:
		name := "env:" + j.TargetURLEnv
		d.declared[name] = Target{Name: name, URLEnv: j.TargetURLEnv, Auth: Auth{Type: AuthNone}}
		if _, known := d.implied[name]; !known && !j.Disabled {
			d.implied[name] = path
		}
		return name
	case 1:
		return same[0]
	}
	d.add(path, CodeAmbiguousTarget, "several targets have this variable: %s; name one with `target: %s`", strings.Join(same, ", "), same[0])
	return ""
}

// checkBody returns the body as JSON, or nil for the default body.
func (d *draft) checkBody(path string, j Job) any {
	if j.Body == nil {
		return nil
	}
	body, err := encodeJSON(j.Body)
	switch {
	case err != nil:
		d.add(path, CodeBadBody, "the body cannot be written as JSON: %v", err)
		return nil
	case bodyless(j.Method):
		d.add(path, CodeBadBody, "a %s call has no body; remove it, or use method: POST", j.Method)
		return nil
	case len(body) > maxBody:
		d.add(path, CodeBadBody, "the body has %d bytes as JSON, the maximum is %d; let the target look up the data", len(body), maxBody)
		return nil
	}
	switch most, ok := d.checkPlaceholders(path, string(body)); {
	case !ok:
		return nil
	case most > maxBody:
		d.add(path, CodeBadBody, "the body can have %d bytes with the values of its placeholders, the maximum is %d", most, maxBody)
		return nil
	}
	return json.RawMessage(body)
}

// encodeJSON is compact JSON without HTML's escapes.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func bodyless(method string) bool {
	return method == "GET" || method == "HEAD"
}

// timing is what a schedule is parsed from.
type timing struct {
	expr, timezone string
	dst            schedule.DST
}

// schedule parses each expression once: of many jobs, most have the schedule of
// another.
func (d *draft) schedule(j Job) (*schedule.Schedule, error) {
	key := timing{j.Schedule, j.Timezone, j.DST}
	if known := d.parsed[key]; known != nil {
		return known, nil
	}
	parsed, err := schedule.Parse(j.Schedule, j.Timezone, j.DST)
	if err == nil {
		d.parsed[key] = parsed
	}
	return parsed, err
}

// parseSchedule places the parser's complaint: at the column that it names
// where the text stands literally in the file, else at the value.
func (d *draft) parseSchedule(path string, j Job) *schedule.Schedule {
	if j.Schedule == "" {
		d.add(path+".schedule", CodeMissingSchedule, "the job has no schedule; add one, e.g. `schedule: \"0 3 * * *\"`")
		return nil
	}
	if !oneOf(d, path+".dst", "dst", j.DST, schedule.DSTOnce, schedule.DSTSkip, schedule.DSTWall) {
		return nil
	}
	parsed, err := d.schedule(j)
	if err == nil {
		return parsed
	}
	field, code, column := "schedule", CodeBadSchedule, 0
	var bad *schedule.Error
	if errors.As(err, &bad) {
		column = bad.Column
		if bad.Field == "timezone" {
			code = CodeBadTimezone
		}
		if bad.Field == "timezone" && column == 0 {
			field = "timezone"
		}
	}
	at := d.at(path + "." + field)
	if at.text > 0 && column > 0 {
		at.column = at.text + column - 1
	}
	d.addAt(path+"."+field, at, code, "%v", err)
	return nil
}

func (d *draft) checkCall(path string, j Job) {
	if !slices.Contains(methods, j.Method) {
		d.add(path+".method", CodeBadMethod, "unknown method %s; valid values: %s (in capitals)", quoted(j.Method), strings.Join(methods, ", "))
	}
	if why := badPath(j.Path); why != "" {
		code := CodeBadPath
		if j.Path == "" {
			code = CodeMissingPath
		}
		d.add(path+".path", code, "%s", why)
	} else if !validKeyScope(j.KeyScope) {
		d.add(path+".keyScope", CodeBadScope, "invalid key scope %s; a key scope is visible ASCII, at most %d characters, without *; set keyScope", quoted(j.KeyScope), maxKeyScope)
	}
	for i, s := range j.Scopes {
		at := fmt.Sprintf("%s.scopes[%d]", path, i)
		if !validScope(s) {
			d.add(at, CodeBadScope, "invalid scope %s; a scope is visible ASCII without quotes and backslashes (RFC 6749, section 3.3), one scope per entry", quoted(s))
		} else if slices.Contains(j.Scopes[:i], s) {
			d.add(at, CodeDuplicateScope, "duplicate scope %q; remove one", s)
		}
	}
	d.atLeast(path+".maxInFlight", j.MaxInFlight, 0)
}

// badPath says what is wrong with a path, or "". It is sent as written, so
// what a server or proxy would rewrite is refused.
func badPath(path string) string {
	u, err := url.ParseRequestURI(path)
	switch {
	case path == "":
		return "the job has no path; add `path: /v1/admin/...`, joined to the target's base URL"
	case path[0] != '/':
		return fmt.Sprintf("the path %s must begin with /; the host belongs into the target", quoted(path))
	case len(path) > maxPath:
		return fmt.Sprintf("the path has %d bytes, at most %d are allowed", len(path), maxPath)
	case !visibleASCII(path) || strings.ContainsAny(path, `\"<>^{|}`+"`"):
		return fmt.Sprintf("the path %s has characters that a URL cannot have; percent-encode them", quoted(path))
	case strings.Contains(path, "#"):
		return fmt.Sprintf("the path %s must have no fragment (#...): it would not be sent", quoted(path))
	case err != nil:
		return fmt.Sprintf("the path %s has a %% that two hexadecimal digits do not follow; write %%25 for a percent sign", quoted(path))
	case strings.Contains(u.Path, "//") || slices.ContainsFunc(strings.Split(u.Path, "/"), dots):
		return fmt.Sprintf("the path %s must have no //, /./ or /../: servers rewrite them", quoted(path))
	}
	return ""
}

func dots(segment string) bool { return segment == "." || segment == ".." }

func validScope(s string) bool {
	return s != "" && len(s) <= maxKeyScope && visibleASCII(s) && !strings.ContainsAny(s, `"\`)
}

func (d *draft) checkTimes(path string, j Job) {
	d.between(path+".timeout", j.Timeout, 0, maxWait)
	d.between(path+".catchUpWindow", j.CatchUpWindow, 0, maxAge)
	d.between(path+".retry.maxRetryAfter", j.Retry.MaxRetryAfter, 0, maxWait)
	d.between(path+".retry.horizon", j.Retry.Horizon, 0, maxAge)
	for i, wait := range j.Retry.Backoff {
		d.between(fmt.Sprintf("%s.retry.backoff[%d]", path, i), wait, 0, maxWait)
	}
	if n := len(j.Retry.Backoff); n > maxBackoff {
		d.add(path+".retry.backoff", CodeOutOfRange, "backoff has %d waits, the maximum is %d", n, maxBackoff)
	}
	if j.Retry.Jitter > 1 || j.Retry.Jitter != j.Retry.Jitter {
		d.add(path+".retry.jitter", CodeOutOfRange, "jitter %v is out of range; it is a fraction of the wait, from 0 to 1", j.Retry.Jitter)
	}
	d.checkAsync(path, j)
	oneOf(d, path+".overlap", "overlap", j.Overlap, OverlapSkip, OverlapQueue, OverlapAllow)
	oneOf(d, path+".catchUp", "catchUp", j.CatchUp, CatchUpNone, CatchUpLatest, CatchUpAll)
}

// defaultPoll is the default of Async.Poll.
const defaultPoll = time.Minute

// checkAsync refuses work that could not be asked for to its end.
func (d *draft) checkAsync(path string, j Job) {
	a := j.Async
	if a == (Async{}) {
		return
	}
	if a.Within == 0 {
		d.add(path+".async.within", CodeMissingField, "within is missing; set it to how long the target may work after its first 202, e.g. 6h")
	}
	d.between(path+".async.within", a.Within, 0, maxAge)
	d.between(path+".async.poll", a.Poll, 0, maxWait)
	switch {
	case a.Poll > 0 && a.Poll < time.Second:
		d.add(path+".async.poll", CodeBadDuration, "poll %s is too short; the minimum is 1s", a.Poll)
	case j.Retry.Horizon < a.Within:
		d.add(path+".retry.horizon", CodeBadDuration, "horizon %s is shorter than async.within %s, so the run's key could expire during the work; set at least %s, or remove horizon", j.Retry.Horizon, a.Within, a.Within)
	}
}
