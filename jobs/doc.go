// Package jobs holds what is to run: the definition of a job, the registry of
// all jobs, read from a YAML file or built in Go, and the IDs of runs.
// It reads no clock. It reads the registry's file and the environment variables
// that a caller names, and does no other I/O.
//
// # Guarantees
//
//   - A Registry is validated as a whole before it exists. All problems are
//     reported at once, as Problems, each with its place in the file and a code.
//   - Equal registries have equal Versions, and equal jobs equal Definitions,
//     in whatever order and form they were written.
//   - A run ID is derived from the job and the scheduled time alone (RunID), and
//     only its one spelling is accepted (ParseRunID).
//   - A registry holds no secret: it holds the names of the variables and files
//     that have them, and no message repeats their contents.
package jobs
