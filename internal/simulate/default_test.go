//go:build !race

package simulate_test

// defaultSimulations have ten thousand runs. `make simulate` has more.
const defaultSimulations = 50
