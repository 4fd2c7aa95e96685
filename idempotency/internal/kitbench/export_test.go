package kitbench

// Percentile is for its test.
var Percentile = percentile
