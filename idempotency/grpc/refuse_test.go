package grpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/cronce/cronce/idempotency"
	kitgrpc "github.com/cronce/cronce/idempotency/grpc"
	"github.com/cronce/cronce/idempotency/postgres"
)

func TestCallsThatNameNoOperation(t *testing.T) {
	s := newService(t, nil)
	for name, c := range map[string]struct {
		metadata []string
		code     codes.Code
		reason   string
	}{
		"no key":          {[]string{"account", "alice"}, codes.InvalidArgument, idempotency.CodeMissingKey},
		"a bad key":       {[]string{"account", "alice", "idempotency-key", "two words"}, codes.InvalidArgument, idempotency.CodeInvalidKey},
		"an empty key":    {[]string{"account", "alice", "idempotency-key", ""}, codes.InvalidArgument, idempotency.CodeInvalidKey},
		"two keys":        {[]string{"account", "alice", "idempotency-key", "a", "idempotency-key", "b"}, codes.InvalidArgument, idempotency.CodeInvalidKey},
		"nobody":          {[]string{"idempotency-key", "a"}, codes.Unauthenticated, idempotency.CodeNoPrincipal},
		"an empty name":   {[]string{"account", "", "idempotency-key", "a"}, codes.Unauthenticated, idempotency.CodeNoPrincipal},
		"a long name":     {[]string{"account", strings.Repeat("a", 256), "idempotency-key", "a"}, codes.Unauthenticated, idempotency.CodeNoPrincipal},
		"no time":         {[]string{"account", "alice", "idempotency-key", "a", "cronce-send-before", "soon"}, codes.InvalidArgument, idempotency.CodeInvalidRequest},
		"an empty time":   {[]string{"account", "alice", "idempotency-key", "a", "cronce-send-before", ""}, codes.InvalidArgument, idempotency.CodeInvalidRequest},
		"two times":       {[]string{"account", "alice", "idempotency-key", "a", "cronce-send-before", "2999-01-01T00:00:00Z", "cronce-send-before", "2999-01-01T00:00:00Z"}, codes.InvalidArgument, idempotency.CodeInvalidRequest},
		"a time long ago": {[]string{"account", "alice", "idempotency-key", "a", "cronce-send-before", "2001-01-01T00:00:00Z"}, codes.FailedPrecondition, idempotency.CodeTooLate},
	} {
		t.Run(name, func(t *testing.T) {
			s.call(metadata.AppendToOutgoingContext(t.Context(), c.metadata...), pay, amount(100)).want(t, c.code, c.reason)
		})
	}
	s.wantRuns(0)
}

func TestTheStoreIsDown(t *testing.T) {
	s := newService(t, func(_ *service, o *setup) { o.database = "postgres://nobody@127.0.0.1:1/none" })
	s.pay("order-1", 100).want(t, codes.Unavailable, idempotency.CodeUnavailable)
	s.wantRuns(0)
}

func TestACommitThatTheDatabaseRefuses(t *testing.T) {
	s := newService(t, nil)
	good := s.work
	s.work = func(ctx context.Context, request *structpb.Struct) (any, error) {
		if _, err := postgres.Tx(ctx).Exec(ctx, `INSERT INTO payments (n) VALUES (1), (1)`); err != nil {
			return nil, err
		}
		return good(ctx, request)
	}
	s.pay("order-1", 100).want(t, codes.Internal, idempotency.CodeTxAborted)
	s.work = good
	s.pay("order-1", 100).want(t, codes.OK, "")
	s.wantPayments(1)
}

// The kit runs the work again, and the reply is the last run's.
func TestWorkThatConflicts(t *testing.T) {
	s := newService(t, func(s *service, _ *setup) {
		s.store = postgres.New(s.pool, postgres.Options{Isolation: pgx.Serializable})
	})
	s.work = func(ctx context.Context, _ *structpb.Struct) (any, error) {
		run := s.runs.Load()
		if run == 1 {
			_, err := postgres.Tx(ctx).Exec(ctx, `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$`)
			return nil, err
		}
		return structpb.NewStruct(map[string]any{"run": run})
	}
	for n := range 2 {
		a := s.pay("order-1", 100)
		if a.want(t, codes.OK, ""); a.replayed != (n == 1) || a.reply.Fields["run"].GetNumberValue() != 2 {
			t.Errorf("call %d: %+v", n, a)
		}
	}
	s.wantPayments(1)
}

// What stands of it is not known, so that it is not repeated.
func TestWorkThatEndsItsTransaction(t *testing.T) {
	s := newService(t, nil)
	for name, err := range map[string]error{"succeeds": nil, "fails": errors.New("too late"), "final": status.Error(codes.NotFound, "")} {
		s.runs.Store(0)
		s.work = func(ctx context.Context, _ *structpb.Struct) (any, error) {
			_, failure := postgres.Tx(ctx).Exec(ctx, `COMMIT`)
			check(t, failure)
			return &structpb.Struct{}, err
		}
		for range 2 {
			s.pay(name, 100).want(t, codes.Internal, idempotency.CodeTxEnded)
		}
		s.wantRuns(1)
	}
}

func TestAReplyThatIsTooLarge(t *testing.T) {
	s := newService(t, func(_ *service, o *setup) { o.kit.MaxStoredBody = 1000 })
	for _, err := range []error{nil, status.Error(codes.NotFound, strings.Repeat("x", 1000))} {
		s.work = func(context.Context, *structpb.Struct) (any, error) {
			return structpb.NewStringValue(strings.Repeat("x", 1000)), err
		}
		s.pay("order-1", 100).want(t, codes.Internal, idempotency.CodeReplyTooLarge)
	}
	s.wantRuns(2)
	s.wantPayments(0)
}

func TestAReplyThatIsNoMessage(t *testing.T) {
	s := newService(t, nil)
	for _, reply := range []any{nil, "text"} {
		s.work = func(context.Context, *structpb.Struct) (any, error) { return reply, nil }
		s.pay("order-1", 100).want(t, codes.Internal, idempotency.CodeMisplaced)
	}
	s.wantPayments(0)
}

// A call inside of a transaction would be answered before its commit.
func TestAnInterceptorInsideATransactionIsRefused(t *testing.T) {
	s := newService(t, func(s *service, o *setup) {
		o.outside = append(o.outside, func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			tx, err := s.pool.Begin(ctx)
			check(t, err)
			defer tx.Rollback(ctx)
			return next(s.store.WithTx(ctx, tx), request)
		})
	})
	s.pay("order-1", 100).want(t, codes.Internal, idempotency.CodeMisplaced)
	s.wantRuns(0)
}

func TestAnInterceptorThatIsChainedTwiceIsRefused(t *testing.T) {
	s := newService(t, func(s *service, o *setup) {
		kit, err := idempotency.New(s.store, o.kit)
		check(t, err)
		interceptor, err := kitgrpc.UnaryServerInterceptor(kit, o.options)
		check(t, err)
		o.inside = append(o.inside, interceptor)
	})
	s.pay("order-1", 100).want(t, codes.Internal, idempotency.CodeMisplaced)
	s.wantRuns(0)
}

func TestAnInterceptorNeedsAKitAndAPrincipal(t *testing.T) {
	if _, err := kitgrpc.UnaryServerInterceptor(nil, kitgrpc.Options{Principal: account}); err == nil {
		t.Error("made without a kit")
	}
	if _, err := kitgrpc.UnaryServerInterceptor(&idempotency.Kit{}, kitgrpc.Options{}); err == nil {
		t.Error("made without a principal function")
	}
}
