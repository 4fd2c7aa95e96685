// Package cleanup deletes expired keys and old runs, and has the ledger count past hours.
package cleanup
