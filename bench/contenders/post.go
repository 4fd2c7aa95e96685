package contenders

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// callers is how many calls a contender that has no limit of its own makes at
// once. More are slower, on loopback.
const callers = 32

// poster makes the call of a run as cronce does: the same body, the run's key,
// a deadline, kept-alive connections.
type poster struct {
	client *http.Client
	url    string
}

func newPoster(target string) *poster {
	transport := &http.Transport{MaxIdleConnsPerHost: callers, MaxConnsPerHost: callers, DisableCompression: true}
	return &poster{&http.Client{Transport: transport}, target + "/run"}
}

func (p *poster) post(ctx context.Context, job string, at time.Time) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	scheduledAt := at.UTC().Format(time.RFC3339)
	id := job + "@" + scheduledAt
	body := fmt.Sprintf(`{"jobId":%q,"runId":%q,"scheduledAt":%q}`, job, id, scheduledAt)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", id)
	resp, err := p.client.Do(r)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("the target answered %s", resp.Status)
	}
	return resp.StatusCode, err
}
