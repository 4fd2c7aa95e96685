// Package web is the dashboard: pages about jobs, runs, targets, keys and
// processes, rendered by the server from the ledger. The pages are whole without
// JavaScript and load nothing from elsewhere.
package web
