// Package jobs defines scheduled jobs, the registry that declares them, and the IDs of
// their runs. Load reads a registry from a YAML file, and NewRegistry builds one in Go.
//
// The package reads the registry file, files of secrets, and the environment by the
// lookup function of the caller. It does no other I/O and reads no clock.
//
// # Guarantees
//
//   - A Registry is validated as a whole before it exists. All problems are
//     reported at once, as Problems, each with its place in the file and a code.
//   - Equal registries have equal Versions, and equal jobs equal Definitions,
//     in whatever order and form they were written.
//   - A scheduled run's ID is derived from the job and the scheduled time alone
//     (RunID). Each run ID has one spelling; ParseRunID accepts no other.
//   - A Registry holds no secrets, only the names of the variables and files that hold
//     them. No message repeats their contents.
package jobs
