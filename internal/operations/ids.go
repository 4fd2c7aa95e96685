package operations

import "strconv"

// IDs returns what other commands and requests name it by.
func (j Job) IDs() []string             { return []string{j.ID} }
func (r Run) IDs() []string             { return []string{r.RunID} }
func (m Member) IDs() []string          { return []string{m.RunID} }
func (i Incident) IDs() []string        { return []string{strconv.FormatInt(i.ID, 10)} }
func (t Template) IDs() []string        { return []string{t.ID} }
func (s Schedule) IDs() []string        { return []string{s.JobID} }
func (r JobActionResult) IDs() []string { return []string{r.JobID} }

// IDs returns none for a pause of a dry run.
func (p Pause) IDs() []string {
	if p.ID == 0 {
		return nil
	}
	return []string{strconv.FormatInt(p.ID, 10)}
}
