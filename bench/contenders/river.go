package contenders

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/cronce/cronce/bench/rig"
)

// River with the settings at which it was fastest: jobs inserted in one batch,
// 500 workers, a cooldown of 2 ms between two fetches (its defaults fetch every
// 100 ms and are ten times slower).
var River = rig.Contender{Name: "River", Store: rig.PostgreSQL, Run: runRiver,
	Stored: func(ctx context.Context, database string) (int, error) {
		return countPostgres(ctx, database, `SELECT count(*) FROM river_job WHERE state = 'completed'`)
	}}

// call is the job of River's queue.
type call struct {
	Job string    `json:"job"`
	At  time.Time `json:"at"`
}

func (call) Kind() string { return "call" }

func runRiver(ctx context.Context, t *rig.Task) error {
	pool, err := pgxpool.New(ctx, t.Database)
	if err != nil {
		return err
	}
	defer pool.Close()
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	target, workers := newPoster(t.Target), river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, j *river.Job[call]) error {
		_, err := target.post(ctx, j.Args.Job, j.Args.At)
		return err
	}))
	client, err := river.NewClient(driver, &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 500}},
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 10 * time.Millisecond,
		Workers:           workers,
		Logger:            slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	completed, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: t.Runs + 1,
		Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer unsubscribe()
	if err := client.Start(ctx); err != nil {
		return err
	}
	t.BeginSoon()
	at, params := time.Now(), make([]river.InsertManyParams, t.Runs)
	for i := range params {
		params[i].Args = call{Job: fmt.Sprintf("job-%06d", i), At: at}
	}
	if _, err := client.InsertManyFast(ctx, params); err != nil {
		return err
	}
	for range t.Runs {
		<-completed
	}
	t.Done(nil)
	<-ctx.Done()
	return client.StopAndCancel(context.WithoutCancel(ctx))
}
