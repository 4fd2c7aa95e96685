// Package schedule computes when a job is due. It parses crontab lines,
// Amazon EventBridge's cron(), rate() and at(), and @every, and applies a
// policy for daylight saving (DST).
//
// A Schedule is a pure function of time: every process and every restart
// computes the same scheduled times. Time zones come from the embedded
// database (ZoneVersion), never from the host. docs/schedules.md describes
// the syntax and the rules.
package schedule
