package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/cronce/cronce/internal/operations"
)

// Export writes what the server exports, as it arrives. It is asked for once: a part may
// have been written when it fails.
func (s *Client) Export(ctx context.Context, e operations.Export, w io.Writer) error {
	query := queryOf(e.Selection)
	set(query, "format", string(e.Format))
	switch e.What {
	case "runs":
		addFilter(query, e.Runs)
	case "members":
		query = membersQuery(e.Members)
		set(query, "format", string(e.Format), "run", e.Members.Parent)
	case "incidents":
		if e.Incidents.Open {
			query.Set("open", "true")
		}
	case "audit":
		set(query, "run", e.Audit.RunID, "by", e.Audit.By, "since", timeText(e.Audit.Since), "until", timeText(e.Audit.Until))
	}
	r, err := s.request(ctx, http.MethodGet, "/v1/export/"+e.What+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	endless := *s.client
	endless.Timeout = 0
	res, err := endless.Do(r)
	if err != nil {
		_, err = s.noAnswer(err)
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		_, err = s.refused(res, text)
		return err
	}
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("the export of %s was cut short: %w", s.base, err)
	}
	return nil
}
