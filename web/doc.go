// Package web is the dashboard: pages about jobs, runs, targets, keys and
// processes, rendered by the server from the ledger. The pages work without
// JavaScript and load nothing from other hosts.
package web
