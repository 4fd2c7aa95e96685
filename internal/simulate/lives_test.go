//go:build !race

package simulate_test

// defaultLives take about a minute on two processors.
const defaultLives = 200
