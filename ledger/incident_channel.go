package ledger

import (
	"encoding/json"
	"fmt"
	"time"
)

// ChannelState is what was sent to a channel about an incident. Incident.NotifierState is the
// JSON of them, by channel.
type ChannelState struct {
	Open     bool      `json:"open"`     // it was notified of the problem, and not of its end
	At       time.Time `json:"at"`       // of the last notification
	Openings int       `json:"openings"` // how often the incident had opened then
	// Runs are the IDs of the last notifications, oldest first. One may be about several
	// incidents.
	Runs []string `json:"runs,omitempty"`
}

// channelRuns is the number of notifications that a ChannelState names.
const channelRuns = 20

// Sent adds a notification.
func (s *ChannelState) Sent(runID string) {
	s.Runs = append(s.Runs[max(0, len(s.Runs)-channelRuns+1):len(s.Runs):len(s.Runs)], runID)
}

// LastRun returns the ID of the last notification; "" if there is none.
func (s ChannelState) LastRun() string {
	if len(s.Runs) == 0 {
		return ""
	}
	return s.Runs[len(s.Runs)-1]
}

// ChannelStates returns what was sent about the incident, by channel.
func (i Incident) ChannelStates() (map[string]ChannelState, error) {
	states := map[string]ChannelState{}
	if len(i.NotifierState) == 0 {
		return states, nil
	}
	if err := json.Unmarshal(i.NotifierState, &states); err != nil {
		return nil, fmt.Errorf("what the channels know of incident %d is damaged: %w", i.ID, err)
	}
	return states, nil
}
