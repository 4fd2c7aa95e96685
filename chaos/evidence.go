package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// evidence is all that the checker asks for, read past the network.
type evidence struct {
	proof.Evidence
	calls, replays int // as the service saw them
}

func (f *fleet) evidence(ctx context.Context, healed time.Time) (evidence, error) {
	e := evidence{Evidence: proof.Evidence{Due: healed, Skew: time.Second}}
	s, err := f.ledger(ctx)
	if err != nil {
		return e, err
	}
	defer s.Close()
	if e.Rows, err = s.List(ctx, ledger.Filter{Limit: math.MaxInt32}); err != nil {
		return e, err
	}
	if e.Epochs, err = epochs(ctx, s, e.Rows); err != nil {
		return e, err
	}
	if e.Effects, err = f.effects(ctx); err != nil {
		return e, err
	}
	return e, f.readCalls(&e)
}

func (f *fleet) effects(ctx context.Context) ([]proof.Effect, error) {
	conn, err := pgx.Connect(ctx, f.Database)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT run_id, begun, at FROM service.effects ORDER BY at`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[proof.Effect])
}

func (f *fleet) readCalls(e *evidence) error {
	file, err := os.Open(f.calls())
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var s seen
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return fmt.Errorf("%s: %w", f.calls(), err)
		}
		if s.Text != "" {
			e.calls++
			e.Requests = append(e.Requests, proof.Request{RunID: s.Run, Text: s.Text})
		}
		if s.Replayed {
			e.replays++
		}
	}
	return lines.Err()
}

// epochs says which schedule each job had when, from as little of what the
// ledger says of itself as will do: when a job began, and its watermark. Which
// of the schedules a moved job had, each of its rows says in the body that it
// sends; the turn from one to the next lies after the last row of the first.
func epochs(ctx context.Context, s store, rows []ledger.Run) ([]proof.Epoch, error) {
	all, err := s.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var list []proof.Epoch
	for _, job := range all {
		spec, ok := specOf(job.JobID)
		if !ok {
			continue // the purge, which is not due in the time
		}
		begun, err := beginnings(ctx, s, job.JobID)
		if err != nil {
			return nil, err
		}
		switch spec.kind {
		case steady:
			e, err := epoch(job.JobID, spec.schedule, begun[0], job.Watermark)
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		default:
			turns, err := turns(spec, job, begun, rows)
			if err != nil {
				return nil, err
			}
			list = append(list, turns...)
		}
	}
	return list, nil
}

func epoch(id, schedule string, from, to time.Time) (proof.Epoch, error) {
	parsed, err := jobs.ParseSchedule(schedule, "UTC", jobs.DSTOnce)
	return proof.Epoch{JobID: id, Schedule: parsed, From: from, To: to}, err
}

// beginnings are when a job's epochs began, oldest first.
func beginnings(ctx context.Context, s store, id string) ([]time.Time, error) {
	events, err := s.Events(ctx, id, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	var begun []time.Time
	for _, e := range events {
		if e.Kind == ledger.EpochBegun {
			begun = append(begun, e.At)
		}
	}
	if len(begun) == 0 {
		return nil, fmt.Errorf("%s has no epoch", id)
	}
	return begun, nil
}

// turns are the epochs of a job whose schedule or presence changes.
func turns(spec jobSpec, job ledger.JobStatus, begun []time.Time, rows []ledger.Run) ([]proof.Epoch, error) {
	last := map[int64]time.Time{}
	schedule := map[int64]string{}
	for _, r := range rows {
		if r.JobID != spec.id {
			continue
		}
		if r.ScheduledAt.After(last[r.Epoch]) {
			last[r.Epoch] = r.ScheduledAt
		}
		if len(r.Call.Body) == 0 {
			continue
		}
		var body struct{ Schedule string }
		if err := json.Unmarshal(r.Call.Body, &body); err != nil {
			return nil, fmt.Errorf("the frozen body of %s: %w", r.ID, err)
		}
		schedule[r.Epoch] = body.Schedule
	}
	var list []proof.Epoch
	from := begun[0]
	for n := int64(1); n <= int64(len(begun)); n++ {
		to, ok := last[n]
		if spec.kind == seasonal {
			from = begun[n-1]
		}
		if n == job.Epoch && !job.Ended {
			to, ok = job.Watermark, ok || schedule[n] != ""
		}
		if !ok {
			continue // over before its first instant
		}
		e, err := epoch(spec.id, schedule[n], from, to)
		if err != nil {
			return nil, err
		}
		list, from = append(list, e), to
	}
	return list, nil
}
