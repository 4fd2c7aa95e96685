package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/internal/field"
)

// Heartbeat is an address that is requested regularly while jobs are planned on time.
// Its receiver notices by that when no scheduler runs. Such a request is called a ping.
type Heartbeat struct {
	URLEnv string        // the variable that holds the address; "": none
	Every  time.Duration // time between two pings; at least 1s, default 1m
}

func (h Heartbeat) enter(d *draft) { d.heartbeats = append(d.heartbeats, h) }

// HeartbeatTarget is the name of the target of a Heartbeat, and the prefix of the names
// of the targets of jobs' heartbeats.
const HeartbeatTarget = "heartbeat:"

// defaultEvery is the default of Heartbeat.Every.
const defaultEvery = time.Minute

func (d *draft) checkHeartbeat() Heartbeat {
	h := only(d, "heartbeat", d.heartbeats)
	if h == (Heartbeat{}) {
		return h
	}
	setDefault(&h.Every, defaultEvery)
	d.checkVariable("heartbeat.urlEnv", "urlEnv", h.URLEnv, "the variable that holds the address")
	field.Object(&h).Check(d.Report, "heartbeat")
	d.declared[HeartbeatTarget] = Target{Name: HeartbeatTarget, URLEnv: h.URLEnv, Auth: Auth{Type: AuthNone}}
	return h
}

// Heartbeat returns the registry's heartbeat; the zero value means none.
func (r *Registry) Heartbeat() Heartbeat { return r.heartbeat }

// maxBeating is the longest ID of a job with a heartbeat: its pings are runs of a job
// too.
const maxBeating = 54

// HeartbeatJobID returns the ID of the job whose runs are the pings of this job's
// heartbeat.
func (j Job) HeartbeatJobID() string { return "heartbeat-" + j.ID }

// PingRunID returns the ID of the run that pings this job's heartbeat of a kind, "start",
// "success", "fail" or "log", for a run that started or ended at a time.
func (j Job) PingRunID(runID, kind string, at time.Time) string {
	sum := sha256.Sum256([]byte(runID))
	return RunIDWithToken(j.HeartbeatJobID(), at.UTC().Truncate(time.Second), hex.EncodeToString(sum[:8])+"-"+kind)
}

// HeartbeatTarget returns the name of the target that this job's pings are sent to.
func (j Job) HeartbeatTarget() string { return HeartbeatTarget + j.ID }

func (d *draft) checkJobHeartbeat(path string, j Job) {
	if j.HeartbeatURLEnv == "" {
		return
	}
	path += ".heartbeat.urlEnv"
	d.checkVariable(path, "urlEnv", j.HeartbeatURLEnv, "the variable that holds the address")
	if len(j.ID) > maxBeating {
		d.Add(path, codeBadID,
			"the id of a job with a heartbeat has at most %d characters, since its pings are runs of the job heartbeat-ID; "+
				"shorten the id, or remove heartbeat", maxBeating)
	}
	if slices.ContainsFunc(d.jobs, func(other registered) bool { return other.ID == j.HeartbeatJobID() }) {
		d.Add(path, codeDuplicateID, "the pings are runs of the job %q, which the registry has too; rename one of the jobs", j.HeartbeatJobID())
	}
	if !j.Disabled {
		d.declared[j.HeartbeatTarget()] = Target{Name: j.HeartbeatTarget(), URLEnv: j.HeartbeatURLEnv, Auth: Auth{Type: AuthNone}}
	}
}

// OwnAddress reports whether a target is a channel or a heartbeat, which calls have for
// themselves, and not one that jobs call.
func OwnAddress(target string) bool {
	return strings.HasPrefix(target, channelPrefix) || strings.HasPrefix(target, HeartbeatTarget)
}
