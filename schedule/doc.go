// Package schedule computes the scheduled times of a job. It parses crontab fields,
// @every, and cron(), rate() and at() of Amazon EventBridge. A policy ([DST]) determines
// what happens when clocks change.
//
// A Schedule is a pure function of time: every process and every restart
// computes the same scheduled times. Time zones come from the embedded
// database ([ZoneVersion]) or from the newer one of UseZones, never from the host.
// docs/schedules.md describes the syntax and the rules.
package schedule
