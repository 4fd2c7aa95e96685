// Package cleanup deletes expired keys and old runs.
package cleanup
