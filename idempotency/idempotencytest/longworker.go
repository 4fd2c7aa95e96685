package idempotencytest

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// longWorkerCases are about the worker of long work: its lease, and how it finishes.
var longWorkerCases = map[string]func(*testing.T, Engine){
	"progress renews the lease": func(t *testing.T, e Engine) {
		p, other := working(t, e)
		e.Age(key("k"), lease-5*time.Second)
		ok(t, p.step(progress(1)))
		e.Age(key("k"), 10*time.Second)
		expect(t, post(other, "k", `{}`), http.StatusAccepted, `{"progress":1}`, false)
		started(t, 0, other)
	},
	"a dead worker's key is taken over, with its progress": func(t *testing.T, e Engine) {
		p, other := working(t, e)
		ok(t, p.step(progress(map[string]int{"done": 7})))
		e.Age(key("k"), lease)
		expect(t, post(other, "k", `{}`), http.StatusAccepted, `{"progress":{"done":7}}`, false)
		ok(t, other.end(func(ctx context.Context, w *idempotency.Work) error {
			var former struct{ Done int }
			if found, err := w.Previous(&former); !found || err != nil || former.Done != 7 {
				t.Errorf("the former progress: %t, %v, %+v", found, err, former)
			}
			return finish(e)(ctx, w)
		}))
		expect(t, post(other, "k", `{}`), http.StatusCreated, `"paid"`, true)
		written(t, e, "paid", 1)
	},
	"of two workers only the one with the lease finishes": func(t *testing.T, e Engine) {
		for _, last := range []bool{true, false} {
			name := map[bool]string{true: "after", false: "before"}[last]
			p, other := longWork(t, e.Store), longWork(t, e.Other)
			expect(t, post(p, name, `{}`), http.StatusAccepted, "", false)
			e.Age(key(name), lease)
			expect(t, post(other, name, `{}`), http.StatusAccepted, "", false)
			if last {
				ok(t, other.end(finish(e)))
			}
			if err := p.end(finish(e)); !errors.Is(err, idempotency.ErrLeaseLost) {
				t.Errorf("%s: the worker without the lease: %v", name, err)
			}
			if !last {
				ok(t, other.end(finish(e)))
			}
			expect(t, post(other, name, `{}`), http.StatusCreated, `"paid"`, true)
		}
		written(t, e, "paid", 2)
	},
	"progress without the lease ends the work": func(t *testing.T, e Engine) {
		p, other := working(t, e)
		e.Age(key("k"), lease)
		expect(t, post(other, "k", `{}`), http.StatusAccepted, "", false)
		err := p.end(func(ctx context.Context, w *idempotency.Work) error {
			err := w.Progress(ctx, 1)
			if !errors.Is(context.Cause(ctx), idempotency.ErrLeaseLost) {
				t.Errorf("the work's context: %v", context.Cause(ctx))
			}
			return err
		})
		if !errors.Is(err, idempotency.ErrLeaseLost) {
			t.Error(err)
		}
		expect(t, post(p, "k", `{}`), http.StatusAccepted, `{"progress":null}`, false)
	},
	"a Finish that fails commits nothing and can be repeated": func(t *testing.T, e Engine) {
		p, _ := working(t, e)
		err := p.step(func(ctx context.Context, w *idempotency.Work) error {
			return w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
				ok(t, e.Write(ctx, "paid"))
				return idempotency.Reply{}, errNo
			})
		})
		if !errors.Is(err, errNo) {
			t.Fatal(err)
		}
		written(t, e, "paid", 0)
		expect(t, post(p, "k", `{}`), http.StatusAccepted, "", false)
		ok(t, p.end(finish(e)))
		expect(t, post(p, "k", `{}`), http.StatusCreated, "", true)
		written(t, e, "paid", 1)
		started(t, 1, p)
	},
	"a Finish whose connection is lost can be repeated": func(t *testing.T, e Engine) {
		p, _ := working(t, e)
		err := p.step(func(ctx context.Context, w *idempotency.Work) error {
			return w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
				ok(t, e.Write(ctx, "paid"))
				e.Kill(ctx)
				return idempotency.Reply{}, nil
			})
		})
		if err == nil {
			t.Fatal("finished without a connection")
		}
		ok(t, p.end(finish(e)))
		expect(t, post(p, "k", `{}`), http.StatusCreated, "", true)
		written(t, e, "paid", 1)
	},
	"a Finish that ends its transaction itself is never repeated": func(t *testing.T, e Engine) {
		for _, commit := range []bool{true, false} {
			name := map[bool]string{true: "commit", false: "rollback"}[commit]
			p := longWork(t, e.Store)
			expect(t, post(p, name, `{}`), http.StatusAccepted, "", false)
			err := p.end(func(ctx context.Context, w *idempotency.Work) error {
				return w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
					return idempotency.Reply{}, e.End(ctx, commit)
				})
			})
			if !errors.Is(err, idempotency.ErrTxEnded) || errors.Is(err, idempotency.ErrInProgress) {
				t.Errorf("%s: %v", name, err)
			}
			for range 2 {
				if w := post(p, name, `{}`); w.Code < 500 {
					t.Errorf("%s: answered %d %s", name, w.Code, w.Body)
				}
			}
			started(t, 1, p)
		}
	},
	"a Finish that ends its transaction itself and panics is never repeated": func(t *testing.T, e Engine) {
		var starts atomic.Int32
		h := kit(t, e.Store).Accept(route, func(ctx context.Context, w *idempotency.Work) error {
			starts.Add(1)
			return w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
				ok(t, e.End(ctx, false))
				panic("oops")
			})
		})
		status := http.StatusAccepted
		for deadline := time.Now().Add(maxWait); status == http.StatusAccepted && time.Now().Before(deadline); {
			status = post(h, "k", `{}`).Code
		}
		if n := starts.Load(); status < 500 || n != 1 {
			t.Errorf("answered %d after %d starts", status, n)
		}
		usedUp(t, e, key("k"), "k")
	},
	"a Finish that ends its transaction itself uses the key up although the store fails meanwhile": func(t *testing.T, e Engine) {
		s := &failingResume{Store: e.Store, Worker: e.Store.(store.Worker)}
		p := longWork(t, s)
		expect(t, post(p, "k", `{}`), http.StatusAccepted, "", false)
		err := p.end(func(ctx context.Context, w *idempotency.Work) error {
			return w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
				s.failures.Store(2)
				return idempotency.Reply{}, e.End(ctx, false)
			})
		})
		if !errors.Is(err, idempotency.ErrTxEnded) {
			t.Error(err)
		}
		usedUp(t, e, key("k"), "k")
	},
	"nobody starts the work between a commit of its own and the end of Finish": func(t *testing.T, e Engine) {
		p, other := longWork(t, e.Store), longWork(t, e.Store)
		expect(t, post(p, "k", `{}`), http.StatusAccepted, "", false)
		err := p.end(func(ctx context.Context, w *idempotency.Work) error {
			return w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
				ok(t, errors.Join(e.Write(ctx, "paid"), e.End(ctx, true)))
				if w := post(other, "k", `{}`); w.Code == http.StatusAccepted {
					t.Errorf("meanwhile answered %d %s", w.Code, w.Body)
				}
				return idempotency.Reply{}, nil
			})
		})
		if !errors.Is(err, idempotency.ErrTxEnded) {
			t.Error(err)
		}
		if w := post(other, "k", `{}`); w.Code < 500 {
			t.Errorf("answered %d %s", w.Code, w.Body)
		}
		started(t, 0, other)
		written(t, e, "paid", 1)
	},
}

// failingResume is a store whose next calls of Resume fail.
type failingResume struct {
	store.Store
	store.Worker
	failures atomic.Int32
}

func (s *failingResume) Resume(ctx context.Context, c store.Claim) (store.Tx, bool, error) {
	if s.failures.Add(-1) >= 0 {
		return nil, false, store.ErrUnavailable
	}
	return s.Worker.Resume(ctx, c)
}
