package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

const (
	// incidentsLooked is the number of open incidents that are read.
	incidentsLooked = 50
	// incidentsShown is the number of them that are listed one by one.
	incidentsShown = 5
)

// incidentTrouble returns the open incidents that nobody has acknowledged. Those of dead runs are
// left out: the runs themselves ask for attention until somebody acts on them. So is that of the
// purge while this process warns of it: one trouble is one line.
func (d *Dashboard) incidentTrouble(ctx context.Context, counts ledger.Counts) (items []attention, err error) {
	if counts.Incidents == 0 { // nearly always, and every page asks
		return nil, nil
	}
	list, err := d.Ledger.Incidents(ctx, ledger.IncidentFilter{Open: true, Limit: incidentsLooked})
	if err != nil {
		return nil, err
	}
	more := 0
	for _, i := range list {
		switch {
		case !i.AckedAt.IsZero(), i.Cause == ledger.IncidentDead, i.Cause == ledger.IncidentOverdue && d.Serving().PurgeWarning != "":
		case len(items) == incidentsShown:
			more++
		default:
			items = append(items, incidentItem(i))
		}
	}
	if more > 0 {
		items = append(items, attention{Kind: failedKind, What: counted(more, "more open incident"), Do: "These are older.",
			CLI: "cronce incidents list"})
	}
	return items, nil
}

// incidentKinds has the kind by which an incident of each cause is drawn.
var incidentKinds = map[ledger.IncidentCause]kind{
	ledger.IncidentDead: failedKind, ledger.IncidentMissed: stalledKind, ledger.IncidentLate: lateKind, ledger.IncidentUnplanned: stalledKind,
	ledger.IncidentOverdue: stalledKind,
	ledger.IncidentExpiry:  lateKind,
}

// incidentItem describes an incident as a problem: what it is, what closes it, and the command that acknowledges it.
func incidentItem(i ledger.Incident) attention {
	a := attention{
		Kind: cmp.Or(incidentKinds[i.Cause], failedKind), What: incidentWords(i), Link: jobPath(i.JobID), Since: i.OpenedAt, Incident: i.ID,
		Do:  "An open incident of " + counted(i.Count, "problem") + ": it closes " + closing(i) + ", and an acknowledgement silences it.",
		CLI: fmt.Sprintf("cronce incidents ack %d%s", i.ID, why),
	}
	if i.Error != "" {
		a.Do = sentenceOf(i.Error) + " " + a.Do
	}
	return a
}

// closing says what closes an incident by itself.
func closing(i ledger.Incident) string {
	switch {
	case i.Cause == ledger.IncidentUnplanned && i.Reason == ledger.ReasonNotPlannable:
		return "when all schedules of the template have been planned"
	case i.Cause == ledger.IncidentUnplanned:
		return "when a process plans the job"
	}
	return "with the job's next success"
}

// incidentWords names the job of an incident, and its problem.
func incidentWords(i ledger.Incident) string { return i.JobID + ": " + i.Problem() }

// jobIncidents returns the open incidents of a job with their notifications. Unlike incidentTrouble it has acknowledged
// ones too, with who did it in place of the action.
func (d *Dashboard) jobIncidents(r *http.Request, jobID string) (items []attention, err error) {
	list, err := d.Ledger.Incidents(r.Context(), ledger.IncidentFilter{JobID: jobID, Open: true, Limit: incidentsShown})
	if err != nil {
		return nil, err
	}
	notified, err := d.Operations.Notified(r.Context(), list...)
	for _, i := range list {
		a := incidentItem(i)
		a.Notified = notified[i.ID]
		a.Link = ""
		if i.RunID != "" {
			a.Link = runPath(i.RunID)
		}
		a.Actions = d.incidentActions(r, i.ID)
		if !i.AckedAt.IsZero() {
			a.Do, a.CLI, a.Actions = "Acknowledged by "+i.AckedBy+": "+sentenceOf(i.Why), "", nil
		}
		items = append(items, a)
	}
	return items, err
}

func (d *Dashboard) incidentActions(r *http.Request, id int64) []actionLink {
	return d.allowed(r, actionLink{Name: operations.AckIncident, Path: actionPath(operations.AckIncident, "incident", strconv.FormatInt(id, 10))})
}

// previewIncident fills in the page of the action on one incident. A closed or an acknowledged one has no form.
func (d *Dashboard) previewIncident(r *http.Request, v *actionView) error {
	text := r.URL.Query().Get("incident")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return invalid("\""+text+"\" is not the number of an incident.", "The overview lists the open ones.")
	}
	list, err := d.Ledger.Incidents(r.Context(), ledger.IncidentFilter{ID: id})
	if err != nil {
		return err
	}
	if len(list) == 0 { // purged, or a wrong number
		return missing("The ledger has no incident "+text+".", "The overview lists the open ones.")
	}
	i := list[0]
	v.Subject, v.Back, v.Button = "the incident of "+i.JobID, jobPath(i.JobID), "Acknowledge the incident"
	v.CLI = fmt.Sprintf("cronce incidents ack %d%s", id, why)
	v.Lines = []string{
		incidentWords(i) + ". It is open since " + v.Now.exact(i.OpenedAt) + ".",
		"It no longer asks for attention, and closes " + closing(i) + ". This cannot be undone.",
	}
	v.hide("incident", text)
	switch {
	case !i.Open():
		v.Refused = "The incident is closed already, since " + v.Now.exact(i.ClosedAt) + "."
	case !i.AckedAt.IsZero():
		v.Refused = "The incident is acknowledged already, by " + i.AckedBy + ": " + sentenceOf(i.Why)
	}
	return nil
}
