// Package cleanup deletes expired keys and old runs, and proves beforehand that no key
// expires too early. Prove shows for each job of a registry that the target's keys
// outlive every call that can still be accepted under them.
package cleanup
