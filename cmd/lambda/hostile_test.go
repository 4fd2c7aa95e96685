package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
)

// hostile is what no sender means and some send.
func hostile() map[string]string {
	deep := strings.Repeat(`{"detail":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	return map[string]string{
		"null": "null", "a number": "1e999", "a text": `"x"`, "an array": "[]", "half an object": `{"jobId":`,
		"six megabytes":        `{"jobId":"release","x":"` + strings.Repeat("é", 3_000_000) + `"}`,
		"an id of a megabyte":  `{"jobId":"` + strings.Repeat("r", 1_000_000) + `","id":"x"}`,
		"a deep object":        deep,
		"deep within detail":   `{"id":"e","detail-type":"x","time":"2026-11-21T03:00:00Z","detail":` + deep + `}`,
		"types all wrong":      `{"jobId":{"a":[1]},"scheduledAt":7,"id":[null]}`,
		"nulls":                `{"jobId":null,"scheduledAt":null,"id":null}`,
		"a rule of nulls":      `{"id":null,"detail-type":null,"time":null,"resources":null,"detail":null}`,
		"resources of numbers": `{"id":"e","detail-type":"x","time":"2026-11-21T03:00:00Z","resources":[1,2],"detail":"release"}`,
		"a Unicode job":        `{"jobId":"rеlease","id":"x"}`, // its second letter is Cyrillic
		"controls in a job":    `{"jobId":"release\u0000\n","id":"x"}`,
		"the year 9999":        `{"jobId":"release","scheduledAt":"9999-12-31T23:59:00Z"}`,
		"a UUIDv7 of 10889":    `{"jobId":"release","id":"ffffffff-ffff-7fff-8fff-ffffffffffff"}`,
		"Records of null":      `{"Records":[null]}`,
		"Records of Records":   `{"Records":[{"messageId":"m","eventSource":"aws:sqs","body":{"jobId":"release"}}]}`,
		"a tick of text":       `{"tick":"true"}`,
		"a tick in Records":    `{"Records":[{"messageId":"m","eventSource":"aws:kinesis","body":"{\"tick\":true}"}]}`,
	}
}

// Each is an error that says something, and none ends the process.
func TestHostileEventsAreErrorsAndTheNextEventRuns(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg, at := newTarget(t), minute()
		fn := tg.function(registryFile(t, releaseJob), db)
		for name, payload := range hostile() {
			out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: payload})
			if out.Error == nil || out.Error.Message == "" || len(out.Error.Message) > 1000 {
				t.Errorf("%s: crashed %v, timed out %v, error %.1100v, answer %s", name, out.Crashed, out.TimedOut, out.Error, out.Response)
			}
		}
		tg.wantEffects()
		out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: releaseEvent(at)})
		succeeded(t, out, releaseRun(at))
		if out.Cold {
			t.Error("the process did not live through them")
		}
	})
}

// A message whose call hangs until the time is up is delivered again; it takes
// none of the others with it.
func TestAMessageThatHangsIsReportedAlone(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg, newest := newTarget(t), minute()
		often := strings.Replace(releaseJob, "[100ms, 200ms]", "["+strings.Repeat("100ms, ", 20)+"200ms]", 1)
		fn := tg.function(registryFile(t, strings.Replace(often, "target:", "overlap: allow, target:", 1)), db)
		hangs, free := releaseRun(newest.Add(-2*time.Minute)), make(chan struct{})
		tg.holdRun(hangs, free)
		var records, want []string
		for i := range 5 {
			at := newest.Add(-time.Duration(i) * time.Minute)
			body, _ := json.Marshal(releaseEvent(at))
			records = append(records, fmt.Sprintf(`{"messageId":"m-%d","body":%s,"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:1:q"}`, i, body))
			want = append(want, releaseRun(at))
		}
		ev := fakelambda.Event{RequestID: "r", Payload: `{"Records":[` + strings.Join(records, ",") + `]}`, Timeout: 5 * time.Second}
		const alone = `{"batchItemFailures":[{"itemIdentifier":"m-2"}]}`
		out := fn.Invoke(ev)
		for ; string(out.Response) != alone && ev.Timeout < 30*time.Second; out = fn.Invoke(ev) {
			ev.Timeout *= 2 // the others need more on a machine that is busy
		}
		if string(out.Response) != alone {
			t.Errorf("outcome %+v: %s", out, out.Response)
		}
		close(free)
		ev.Timeout = time.Minute
		if out := fn.Invoke(ev); string(out.Response) != `{"batchItemFailures":[]}` {
			t.Errorf("again: %+v: %s", out, out.Response)
		}
		tg.wantEffects(want...)
	})
}

// Two ticks at once, in two processes, and the event of a scheduled time beside them.
func TestTicksAtOnceBesideEventsHaveOneEffectARun(t *testing.T) {
	t.Parallel()
	db, tg := testdb.Postgres(t), newTarget(t)
	l := migrated(t, db)
	config := registryFile(t, strings.Replace(releaseJob, `"* * * * *"`, `"* * * * * *", overlap: allow`, 1))
	fns := []*fakelambda.Environment{tg.function(config, db), tg.function(config, db), tg.function(config, db)}
	for range 4 {
		next := time.Now().Truncate(time.Second).Add(time.Second).UTC()
		<-time.After(time.Until(next))
		var all sync.WaitGroup
		for i, payload := range []string{`{"tick":true}`, `{"tick":true}`, releaseEvent(next)} {
			all.Go(func() {
				// A tick of a job that is due each second goes on until its deadline nears.
				ev := fakelambda.Event{RequestID: "r", Payload: payload, Timeout: 5 * time.Second}
				out := fns[i].Invoke(ev)
				for ; out.Error != nil && ev.Timeout < 30*time.Second; out = fns[i].Invoke(ev) {
					ev.Timeout *= 2 // the platform delivers again what failed: a machine is busy
				}
				if out.Error != nil || out.Crashed || out.TimedOut {
					t.Errorf("%s: %+v", payload, out)
				}
			})
		}
		all.Wait()
	}
	runs, succeeded, effects := mustRuns(t, l, ledger.Filter{JobID: "release"}), 0, tg.effects()
	for _, r := range runs {
		switch {
		case r.State == ledger.Succeeded && effects[r.ID] == 1:
			succeeded++
		case !r.State.Finished() && effects[r.ID] <= 1: // a tick's last, left to the next one
		default:
			t.Errorf("%s is %s, with %d effects", r.ID, r.State, effects[r.ID])
		}
	}
	if succeeded < 4 || len(effects) > len(runs) {
		t.Errorf("%d of %d runs succeeded, effects of %d", succeeded, len(runs), len(effects))
	}
}
