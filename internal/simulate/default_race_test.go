//go:build race

package simulate_test

// The race detector makes a simulation ten times as long.
const defaultSimulations = 10
