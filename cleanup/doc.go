// Package cleanup forgets what is past its time, and proves beforehand that
// nothing is forgotten too early: Prove shows for each job of a registry that
// the target's keys outlive every call that can still be accepted under them.
package cleanup
