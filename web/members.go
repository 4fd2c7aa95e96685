package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// membersOnPage is the number of members that a run's page lists.
const membersOnPage = 25

// membersView is the part of a run's page that has its members.
type membersView struct {
	Total   int
	Label   string
	Bar     []bar
	Counts  []memberCount
	State   string // that is chosen
	Key     string
	States  []memberCount // to choose from
	Rows    []memberRow
	More    string // the address of the next page
	First   string // the first page, where this is a later one
	Unknown string // why the question was refused
	Actions []actionLink
	Exports []actionLink
	CLI     string
}

// memberCount is the number of members in a state.
type memberCount struct {
	State ledger.State
	Words string
	Kind  kind
	Count int
	Link  string
}

// memberRow is a member in the list.
type memberRow struct {
	operations.Member
	Words string
	Kind  kind
}

// members returns the part of a run's page that has its members, or nil if the run has no frozen list. It reads one
// page of them, of the state and the key that the address asks for. A question that package operations refuses is
// answered by a sentence in place of the list.
func (d *Dashboard) members(r *http.Request, run ledger.Run) (*membersView, error) {
	if !run.Fan.Frozen() {
		return nil, nil
	}
	counts, err := d.Operations.MemberCounts(r.Context(), run.ID)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	v := &membersView{Total: run.Fan.Members, State: q.Get("state"), Key: strings.TrimSpace(q.Get("key"))}
	v.count(run.ID, counts)
	ask := operations.MemberQuery{Parent: run.ID, Key: v.Key, After: q.Get("after"), Limit: membersOnPage}
	pairs := []string{"run", run.ID, "key", v.Key}
	flags := [][2]string{{"--state", v.State}, {"--key", v.Key}}
	if v.State != "" {
		ask.States = []ledger.State{ledger.State(v.State)}
		pairs = append(pairs, "state", v.State)
	}
	v.CLI = commandOf("cronce runs members "+shellQuote(run.ID), flags)
	v.Exports = d.exportLinks("members", pairs...)
	v.Actions = d.memberActions(r, run.ID, counts)
	page, err := d.Operations.Members(r.Context(), ask)
	if refused, is := operationsError(err); is {
		v.Unknown, v.CLI, v.Exports = sentenceOf(refused.Message), "", nil
		return v, nil
	}
	for _, m := range page.Members {
		v.Rows = append(v.Rows, memberRow{m, memberWords(m.State), memberKind(m.State)})
	}
	if page.Next != "" {
		v.More = membersPath(run.ID, v.State, v.Key, page.Next)
	}
	if ask.After != "" {
		v.First = membersPath(run.ID, v.State, v.Key, "")
	}
	return v, err
}

// count adds the numbers by state: as a bar, in words, and as links that filter the list.
func (v *membersView) count(run string, counts map[ledger.State]int) {
	var words []string
	x := 0.0
	for _, state := range operations.MemberStates {
		c := memberCount{state, memberWords(state), memberKind(state), counts[state], membersPath(run, string(state), "", "")}
		v.States = append(v.States, c)
		if c.Count == 0 {
			continue
		}
		v.Counts, words = append(v.Counts, c), append(words, thousands(c.Count)+" "+c.Words)
		width := max(chartWidth*float64(c.Count)/float64(max(v.Total, 1)), 6) // one dead member of 10,000 is seen
		v.Bar = append(v.Bar, bar{Class: "c " + string(c.Kind), X: round(x), W: round(width), H: 12, Title: words[len(words)-1]})
		x += width
	}
	for i := range v.Bar { // the widest give up what the narrowest were given
		v.Bar[i].X, v.Bar[i].W = round(v.Bar[i].X*chartWidth/max(x, 1)), round(v.Bar[i].W*chartWidth/max(x, 1))
	}
	v.States = append(v.States, memberCount{State: operations.NotSucceeded, Words: memberWords(operations.NotSucceeded)})
	v.Label = fmt.Sprintf("%s: %s", counted(v.Total, "member"), strings.Join(words, ", "))
}

func memberWords(s ledger.State) string { return strings.ReplaceAll(string(s), "_", " ") }

// memberKind returns the kind of a member's state. A member that has not started has no run, and none is its kind.
func memberKind(s ledger.State) kind {
	if s == operations.NotStarted {
		return none
	}
	return kind(s)
}

// memberActions returns the actions on all members of a run that fit their states.
func (d *Dashboard) memberActions(r *http.Request, run string, counts map[ledger.State]int) (links []actionLink) {
	if n := counts[ledger.Dead]; n > 0 {
		if n <= ledger.MaxOpenMembers { // else the run is redriven itself
			links = append(links, actionLink{operations.Redrive, "Redrive the dead…", actionPath(operations.Redrive, "parent", run, "state", "dead")})
		}
		links = append(links, actionLink{operations.Ack, "Acknowledge the dead…", actionPath(operations.Ack, "parent", run, "state", "dead")})
	}
	return d.allowed(r, links...)
}

// membersPath returns the address of a page of members. It ends at the list, so that the browser does not go to the
// top.
func membersPath(run, state, key, after string) string {
	return address(runPath(run), "state", state, "key", key, "after", after) + "#members"
}

// membersFollow says what an action on a run does to its members.
func (d *Dashboard) membersFollow(r *http.Request, v *actionView, changed []operations.Run) error {
	if len(changed) != 1 || changed[0].MemberCount == 0 {
		return nil
	}
	id := changed[0].RunID
	counts, err := d.Operations.MemberCounts(r.Context(), id)
	open := 0
	for _, state := range ledger.Claimable {
		open += counts[state]
	}
	switch v.Name {
	case operations.Redrive:
		v.Lines = []string{fmt.Sprintf("Its list stays as it is. Its %s, acknowledged ones left out, are sent again, "+
			"each under its own key; the others are left.", counted(counts[ledger.Dead], "dead member"))}
	case operations.Cancel:
		v.Lines = append(v.Lines, fmt.Sprintf("Its %s end with it, and %s are not started.", counted(open, "unfinished member"),
			thousands(counts[operations.NotStarted])))
	}
	return err
}
