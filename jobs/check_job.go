package jobs

import (
	"strings"
	"time"

	"github.com/cronce/cronce/internal/suggest"
	"github.com/cronce/cronce/jobs/internal/field"
)

// checkJobs checks the jobs and applies their defaults, in place: a copy of very many
// jobs would need as much memory again.
func (d *draft) checkJobs(p Platform, defaults Defaults) {
	firsts := make(map[string]int, len(d.jobs))
	var j Job
	fields, inherited := field.Object(&j), field.Object((*Job)(&defaults))
	for i := range d.jobs {
		j = d.jobs[i].job()
		path, keyed := jobPath(i), d.jobs[i].keyed
		d.checkID(path+".id", j.ID, i, firsts)
		fields.Check(d.Report, path)
		d.checkAlarm(path+".alarm", j.Alarm)
		ownLimit, once := j.MaxInFlight, j.Retry
		fields.Inherit(inherited)
		if once.Backoff != nil && len(once.Backoff) == 0 && once.For == 0 { // no retries: the defaults add none
			j.Retry.For, j.Retry.MaxBackoff = 0, once.MaxBackoff
		}
		if keyed != nil {
			j.MaxInFlight = ownLimit // a template cannot have one
		}
		d.checkContinuation(path+".retry", j.Retry)
		j = j.withDefaults(p)
		j.Target = d.checkTarget(path, j)
		j.TargetURLEnv = ""
		j.Key = d.declared[j.Target].Key
		d.checkJobKey(path+".target", j, keyed)
		j.Body = d.checkBody(path+".body", j, keyed.names().forMembers(j))
		d.checkJobHeaders(path+".headers", j, keyed)
		j.registry = d.registry.name
		if keyed != nil {
			d.checkTemplate(path, j, keyed)
		} else {
			j.schedule = d.parseSchedule(path, j)
		}
		d.checkCall(path, j, keyed != nil || j.fansOut())
		d.checkEach(path, j, keyed)
		d.checkAsync(path, j)
		d.checkSpread(path+".spread", j)
		d.checkJobHeartbeat(path, j)
		ttl, _ := d.registry.TTL(j.KeyScope)
		j.keySafeFor = j.safeFor(ttl)
		d.jobs[i] = d.register(j, i, keyed)
	}
}

// checkID notes where each id stands first.
func (d *draft) checkID(path, id string, at int, firsts map[string]int) {
	first, twice := firsts[id]
	switch {
	case id == "":
		d.Add(path, codeMissingID, "the job has no id; add one, e.g. `id: release-commission-locks`")
		return
	case !ValidJobID(id):
		d.Add(path, codeBadID,
			"invalid id %s; an id has 1 to 64 of a-z, 0-9, dot, dash and underscore, and starts with a letter or digit", field.Quoted(id))
	case id == PurgeJobID:
		d.Add(path, codeReservedID,
			"the id %q is reserved for the built-in purge; choose another (cleanup.schedule sets when the purge runs)", id)
	case twice:
		d.Add(path, codeDuplicateID, "duplicate id %q (first defined %s); rename one of the jobs", id, d.where(jobPath(first)+".id"))
	}
	if !twice {
		firsts[id] = at
	}
}

// checkContinuation refuses a continuation that adds nothing, or too much.
func (d *draft) checkContinuation(path string, r Retry) {
	if r.For == 0 && r.MaxBackoff != 0 {
		d.Add(path+".maxBackoff", codeNeedlessField, "maxBackoff belongs to for; add for, e.g. `for: 30m`, or remove it")
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
		d.Add(path+".for", field.BadDuration,
			"for %s is shorter than the waits of backoff together, %s; set at least that, or remove for", r.For, sum)
	case r.MaxBackoff < last:
		d.Add(path+".maxBackoff", field.BadDuration,
			"maxBackoff %s is shorter than the last wait of backoff, %s; set at least that", r.MaxBackoff, last)
	case len(whole) > maxBackoff && len(listed) <= maxBackoff:
		d.Add(path+".for", field.OutOfRange,
			"for %s takes more than %d retries with waits of at most %s; raise maxBackoff", r.For, maxBackoff, r.MaxBackoff)
	}
}

// checkTarget returns the name of the job's target. A variable that a declared
// target has too means that target, so that the short form is never a way
// around its authorization.
func (d *draft) checkTarget(path string, j Job) string {
	switch {
	case j.Target != "" && j.TargetURLEnv != "":
		d.Add(path+".targetUrlEnv", codeTwoTargets, "the job has both target and targetUrlEnv; keep one")
	case j.Target == "" && j.TargetURLEnv == "":
		d.Add(path+".target", codeMissingTarget,
			"the job has no target; add `target: NAME` with a name from targets, or `targetUrlEnv: VARIABLE` with the variable that holds the base URL")
	case j.TargetURLEnv != "":
		return d.impliedTarget(path+".targetUrlEnv", j)
	default:
		if _, known := d.declared[j.Target]; !known {
			d.Add(path+".target", codeUnknownTarget,
				"unknown target %s; declare it in targets%s", field.Quoted(j.Target), suggest.DidYouMean(j.Target, d.targetNames()))
		}
	}
	return j.Target
}

// impliedTarget returns the name of the target with the job's variable, and declares a target without a name
// if none has it.
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
	d.Add(path, codeAmbiguousTarget, "several targets have this variable: %s; name one with `target: %s`", strings.Join(same, ", "), same[0])
	return ""
}

// checkAsync refuses work that could not be asked for to its end.
func (d *draft) checkAsync(path string, j Job) {
	a := j.Async
	if a == (Async{}) {
		return
	}
	if a.Within == 0 {
		d.Add(path+".async.within", codeMissingField, "within is missing; set it to how long the target may work after its first 202, e.g. 6h")
	}
	if j.Retry.Horizon < a.Within {
		d.Add(path+".retry.horizon", field.BadDuration,
			"horizon %s is shorter than async.within %s, so the run's key could expire during the work; set at least %s, or remove horizon",
			j.Retry.Horizon, a.Within, a.Within)
	}
}
