// Package rig measures programs side by side: each contender as a process of
// its own, against one target in another process, on databases that no other
// round has used; in turn (A B C A B C ...), since a machine's speed drifts by a
// third within minutes.
//
// A contender does not report its own result: the target counts the calls, and a
// query counts the outcomes. A round in which either count is not exactly the
// number of runs is an error.
package rig
