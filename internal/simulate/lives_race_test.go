//go:build race

package simulate_test

// The race detector makes a life ten times as long.
const defaultLives = 10
