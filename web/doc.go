// Package web is the dashboard: pages about jobs, runs, targets, keys and processes,
// rendered by the server from the ledger. The pages work without JavaScript and load
// nothing from other hosts.
//
// A page is a file page_*.go and a template; New lists the pages with their addresses.
// The files action*.go are the forms of operators' actions: a form shows a preview, and
// its POST makes the action. Package operations decides what an action may do, as for
// the API and the command line. The dashboard stores nothing: each request reads the
// ledger within pageTimeout, and the state of this process through Config.Serving.
// Package serve decides who is admitted.
package web
