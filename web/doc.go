// Package web is the dashboard: pages about jobs, runs, targets, keys and processes, rendered by the server from the
// ledger. The pages work without JavaScript and load nothing from other hosts.
//
// Begin with web.go, which lists the addresses and turns a request into a page. Then read one page, such as
// page_pauses.go, with its template, and one action: action_forms.go has a row for each. A page is a file page_*.go and
// a template. The files action*.go are the forms of operators' actions: a form shows a preview, and its POST makes the
// action. The other files are parts that pages share. health.go has the problems at the top of every page; charts.go,
// cells.go, heat.go and hours.go make the pictures; runfilter.go and selection.go read filters from addresses and write
// them back; zone.go shows times in the reader's zone; render.go writes the HTML.
//
// Package operations decides what an action may do, as for the API and the command line. The dashboard stores nothing:
// each request reads the ledger within pageTimeout, and the state of this process through Config.Serving. Package serve
// decides who is admitted.
package web
