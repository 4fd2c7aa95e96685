//go:build !race

package simulate_test

// defaultLives have ten thousand runs. `make simulate` has more.
const defaultLives = 50
