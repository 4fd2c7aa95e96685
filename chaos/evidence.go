package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/ledger"
)

// evidence is all that the checker asks for, read past the network.
type evidence struct {
	proof.Evidence
	calls, replays int // as the service saw them
	deliveries     int // of the platforms, in all
	redriven       int // parents
	// Of the storm: requests, those that were taken and that had no answer, and the scheduled
	// times of its schedules.
	asked, taken, unanswered, keyed int
}

func (f *fleet) evidence(ctx context.Context, healed time.Time) (evidence, error) {
	e := evidence{Evidence: proof.Evidence{Due: healed, Skew: time.Second, Given: map[string]bool{}}}
	if !f.FunctionsOnly {
		e.Always = always()
	}
	s, err := f.ledger(ctx)
	if err != nil {
		return e, err
	}
	defer s.Close()
	if e.Rows, err = s.List(ctx, ledger.Filter{WithMembers: true, Limit: math.MaxInt32}); err != nil {
		return e, err
	}
	if err := f.lists(ctx, s, &e.Evidence); err != nil {
		return e, err
	}
	f.told(&e)
	if err := f.history(ctx, s, &e); err != nil {
		return e, err
	}
	if e.Effects, err = f.effects(ctx); err != nil {
		return e, err
	}
	err = f.readCalls(&e)
	return e, err
}

// told adds what the platforms delivered, and the events that a function on the
// ledger called done without a row.
func (f *fleet) told(e *evidence) {
	rows := map[string]bool{}
	for _, r := range e.Rows {
		rows[r.ID] = true
	}
	for _, p := range f.platforms {
		e.deliveries += p.deliveries
		for id, done := range p.given {
			e.Given[id] = true
			if done && p.ledger && !rows[id] {
				e.Seen = append(e.Seen, proof.Violation{Rule: proof.Lost, Of: id, What: "and its event was answered as done"})
			}
		}
	}
}

// history adds the revisions, and what is wrong with them.
func (f *fleet) history(ctx context.Context, s store, e *evidence) error {
	turns, err := f.turns(ctx)
	if err != nil {
		return err
	}
	all, err := s.Jobs(ctx)
	if err != nil {
		return err
	}
	watermarks := map[string]time.Time{}
	for _, j := range all {
		watermarks[j.JobID] = j.Watermark
	}
	list, wrong := revisionsOf(turns, f.deployed, watermarks)
	rows, err := whole(ctx, s, e.Rows)
	if err != nil {
		return err
	}
	if err := f.weathered(ctx, s, e, rows); err != nil {
		return err
	}
	strange, err := foreign(rows, list, e.Given)
	for _, ep := range list {
		e.Revisions = append(e.Revisions, ep.Revision)
	}
	if err != nil {
		return err
	}
	e.Seen = append(append(e.Seen, wrong...), strange...)
	for _, spec := range specs {
		events, err := s.Events(ctx, spec.id, math.MaxInt32)
		if err != nil {
			return err
		}
		e.Seen = append(e.Seen, misdated(spec.id, turns, events)...)
	}
	return nil
}

// whole reads rows again with the bodies of their calls, which no list has.
func whole(ctx context.Context, s store, rows []ledger.Run) ([]ledger.Run, error) {
	again := make([]ledger.Run, len(rows))
	for i, r := range rows {
		var err error
		if again[i], _, err = s.Get(ctx, r.ID); err != nil {
			return nil, err
		}
	}
	return again, nil
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
	e.Lists = map[string][][]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var s seen
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return fmt.Errorf("%s: %w", f.calls(), err)
		}
		switch {
		case s.Status == 0 && s.Text == "":
			e.Lists[s.Run] = append(e.Lists[s.Run], s.List)
		case s.Text != "":
			e.calls++
			e.Requests = append(e.Requests, proof.Request{RunID: s.Run, Text: s.Text})
		}
		if s.Replayed {
			e.replays++
		}
	}
	return lines.Err()
}
