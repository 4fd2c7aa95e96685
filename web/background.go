package web

import (
	"context"
	"sync"
	"time"
)

// background is what goes on between requests. Close ends it and waits.
type background struct {
	ctx   context.Context //nolint:containedctx // it ends with the dashboard
	stop  context.CancelFunc
	group sync.WaitGroup
}

func (b *background) init() { b.ctx, b.stop = context.WithCancel(context.Background()) }

// Go runs f until it returns, with a context that ends with the dashboard.
func (b *background) Go(f func(context.Context)) { b.group.Go(func() { f(b.ctx) }) }

func (b *background) close() {
	b.stop()
	b.group.Wait()
}

// rest waits, and reports whether to go on.
func rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
