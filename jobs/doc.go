// Package jobs says what is to run and when: jobs and their schedules, the
// registry that holds them, from a YAML file or from Go, and the ids of runs.
// It reads no clock and, but for the file and the variables that it is told
// to look at, does no I/O.
//
// # Guarantees
//
//   - A Registry is checked as a whole before it exists; what is wrong is said
//     all at once, as Problems, each with its place in the file and its code.
//   - Equal registries have equal Versions, and equal jobs equal Definitions,
//     wherever and in whatever order they were written.
//   - A run-id is derived from the job and the instant alone (RunID), and only
//     its one spelling is read back (ParseRunID).
//   - No secret is in a registry: it holds the names of the variables that
//     have them, and no message repeats a variable's value.
package jobs
