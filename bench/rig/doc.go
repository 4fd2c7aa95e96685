// Package rig measures programs side by side: each contender as a process of
// its own, against one target in another process, on databases that no other
// round has used; in turn (A B C A B C ...), since a machine drifts by a third
// within minutes and only what was measured in the same minute compares.
//
// What a contender says of itself is not believed: the calls are counted by the
// target and the outcomes by a query, and a round in which either is not exactly
// the number of runs is an error.
package rig
