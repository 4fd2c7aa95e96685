//go:build !race

package simulate_test

// defaultLives have a hundred thousand runs, and take half a minute of two processors.
const defaultLives = 500
