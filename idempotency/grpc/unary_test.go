package grpc_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/cronce/cronce/idempotency"
	kitgrpc "github.com/cronce/cronce/idempotency/grpc"
)

func TestAStormOfCallsHasOneEffect(t *testing.T) {
	s := newService(t, nil)
	answers := make([]answer, 40)
	var all sync.WaitGroup
	for n := range answers {
		all.Go(func() { answers[n] = s.pay("order-1", 100) })
	}
	all.Wait()
	first := 0
	for _, a := range answers {
		a.want(t, codes.OK, "")
		if !proto.Equal(a.reply, answers[0].reply) {
			t.Errorf("replied %v and %v", a.reply, answers[0].reply)
		}
		if !a.replayed {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d calls were answered as the first, want 1", first)
	}
	s.wantRuns(1)
	s.wantPayments(1)
}

func TestAReplyIsReplayed(t *testing.T) {
	s := newService(t, nil)
	first := s.pay("order-1", 100)
	for _, key := range []string{"order-1", `"order-1"`} {
		again := s.pay(key, 100)
		again.want(t, codes.OK, "")
		if first.replayed || !again.replayed || !proto.Equal(first.reply, again.reply) || again.reply.Fields["paid"].GetNumberValue() != 100 {
			t.Errorf("%s: replied %+v, then %+v", key, first, again)
		}
	}
	s.wantPayments(1)
}

// An empty message has no bytes, and is a reply all the same.
func TestAnEmptyReplyIsReplayed(t *testing.T) {
	s := newService(t, nil)
	s.work = func(context.Context, *structpb.Struct) (any, error) { return &structpb.Struct{}, nil }
	for n := range 2 {
		if a := s.pay("order-1", 100); a.status.Code() != codes.OK || a.replayed != (n == 1) {
			t.Errorf("call %d: %+v", n, a)
		}
	}
	s.wantPayments(1)
}

// Scope, principal and key tell operations apart.
func TestAKeyIsOneCallersForOneMethod(t *testing.T) {
	s := newService(t, nil)
	s.pay("order-1", 100).want(t, codes.OK, "")
	for _, a := range []answer{
		s.pay("order-2", 100),
		s.call(by(t.Context(), kitgrpc.MetadataKey, "order-1"), refund, amount(100)),
		s.call(metadata.AppendToOutgoingContext(t.Context(), "account", "bob", kitgrpc.MetadataKey, "order-1"), pay, amount(7)),
	} {
		if a.want(t, codes.OK, ""); a.replayed {
			t.Error("replayed for another operation")
		}
	}
	s.wantPayments(4)
}

func TestAnotherPayloadIsRefused(t *testing.T) {
	s := newService(t, nil)
	s.pay("order-1", 100).want(t, codes.OK, "")
	s.pay("order-1", 101).want(t, codes.FailedPrecondition, idempotency.CodeMismatch)
	s.wantPayments(1)
}

// The fields of a map travel in any order.
func TestMapsInAnotherOrderAreTheSamePayload(t *testing.T) {
	s := newService(t, nil)
	for n := range 10 {
		request := amount(100)
		for _, name := range strings.Split("abcdefgh", "") {
			request.Fields[name] = structpb.NewStringValue(name)
		}
		a := s.call(by(t.Context(), kitgrpc.MetadataKey, "order-1"), pay, request)
		if a.want(t, codes.OK, ""); a.replayed != (n > 0) {
			t.Errorf("call %d: replayed %t", n, a.replayed)
		}
	}
	s.wantPayments(1)
}

// A handler's error rolls its work back. Some codes are the answer to every
// repetition; the others leave the key free.
func TestErrorsAreStoredByTheirCode(t *testing.T) {
	s := newService(t, nil)
	final := map[codes.Code]bool{codes.InvalidArgument: true, codes.NotFound: true, codes.AlreadyExists: true, codes.FailedPrecondition: true, codes.OutOfRange: true}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		s.runs.Store(0)
		s.work = func(context.Context, *structpb.Struct) (any, error) {
			refused, err := status.New(code, "no such order").WithDetails(&errdetails.ErrorInfo{Domain: "shop", Reason: "GONE"})
			check(t, err)
			return nil, refused.Err()
		}
		for n := range 2 {
			a := s.pay(code.String(), 100)
			a.want(t, code, "")
			if a.replayed != (n == 1 && final[code]) || a.status.Message() != "no such order" || len(a.status.Details()) != 1 {
				t.Errorf("%s, call %d: %v, replayed %t", code, n, a.status, a.replayed)
			}
		}
		s.wantRuns(map[bool]int32{true: 1, false: 2}[final[code]])
	}
	s.wantPayments(0)
}

func TestAnErrorThatIsNoStatusLeavesTheKeyFree(t *testing.T) {
	s := newService(t, nil)
	good := s.work
	// Not even an error that the kit itself knows: it is the handler's.
	for _, err := range []error{errors.New("no idea"), idempotency.ErrInProgress, idempotency.ErrMismatch} {
		s.work = func(context.Context, *structpb.Struct) (any, error) { return nil, err }
		s.pay("order-1", 100).want(t, codes.Unknown, "")
	}
	s.work = good
	s.pay("order-1", 100).want(t, codes.OK, "")
	s.wantRuns(4)
	s.wantPayments(1)
}

func TestAnErrorThatIsMarkedFinalIsStored(t *testing.T) {
	s := newService(t, nil)
	s.work = func(context.Context, *structpb.Struct) (any, error) {
		return nil, idempotency.Final(status.Error(codes.ResourceExhausted, "the card is empty"))
	}
	for n := range 2 {
		a := s.pay("order-1", 100)
		if a.want(t, codes.ResourceExhausted, ""); a.replayed != (n == 1) || a.status.Message() != "the card is empty" {
			t.Errorf("call %d: %+v", n, a)
		}
	}
	s.wantRuns(1)
	s.wantPayments(0)
}

// gRPC sends a message that is not UTF-8 with replacement characters.
func TestAFinalErrorThatIsNotText(t *testing.T) {
	s := newService(t, nil)
	s.work = func(context.Context, *structpb.Struct) (any, error) {
		return nil, status.Error(codes.InvalidArgument, "no \xff\xfe")
	}
	for n := range 2 {
		a := s.pay("order-1", 100)
		if a.want(t, codes.InvalidArgument, ""); a.replayed != (n == 1) || a.status.Message() != "no \uFFFD\uFFFD" {
			t.Errorf("call %d: %+v", n, a)
		}
	}
}

func TestAServiceNamesItsFinalCodes(t *testing.T) {
	s := newService(t, func(_ *service, o *setup) {
		o.options.Final = func(c codes.Code) bool { return c == codes.PermissionDenied }
	})
	for code, replayed := range map[codes.Code]bool{codes.PermissionDenied: true, codes.NotFound: false} {
		s.work = func(context.Context, *structpb.Struct) (any, error) { return nil, status.Error(code, "") }
		s.pay(code.String(), 100)
		if a := s.pay(code.String(), 100); a.replayed != replayed {
			t.Errorf("%s: replayed %t", code, a.replayed)
		}
	}
}

func TestAPanicLeavesTheKeyFree(t *testing.T) {
	s := newService(t, nil)
	good := s.work
	s.work = func(context.Context, *structpb.Struct) (any, error) { panic("boom") }
	if a := s.pay("order-1", 100); a.status.Message() != "panic: boom" {
		t.Error(a.status)
	}
	s.wantPayments(0)
	s.work = good
	s.pay("order-1", 100).want(t, codes.OK, "")
	s.wantPayments(1)
}

// blocking makes the handler wait, and tells when it does.
func (s *service) blocking() (begun, release chan struct{}) {
	begun, release = make(chan struct{}), make(chan struct{})
	good := s.work
	s.work = func(ctx context.Context, request *structpb.Struct) (any, error) {
		close(begun)
		<-release
		return good(ctx, request)
	}
	return begun, release
}

func TestACallInFlight(t *testing.T) {
	s := newService(t, func(_ *service, o *setup) { o.kit.Wait = -1 })
	begun, release := s.blocking()
	first := make(chan answer)
	go func() { first <- s.pay("order-1", 100) }()
	<-begun
	s.pay("order-1", 100).want(t, codes.Aborted, idempotency.CodeInProgress)
	close(release)
	(<-first).want(t, codes.OK, "")
	if a := s.pay("order-1", 100); !a.replayed {
		t.Errorf("not replayed: %+v", a)
	}
	s.wantPayments(1)
}

// The caller's deadline ends its call, and not the work.
func TestTheWorkOutlivesItsCaller(t *testing.T) {
	s := newService(t, nil)
	begun, release := s.blocking()
	ctx, leave := context.WithCancel(by(t.Context(), kitgrpc.MetadataKey, "order-1"))
	gone := make(chan answer)
	go func() { gone <- s.call(ctx, pay, amount(100)) }()
	<-begun
	leave()
	(<-gone).want(t, codes.Canceled, "")
	close(release)
	if a := s.pay("order-1", 100); a.status.Code() != codes.OK || !a.replayed {
		t.Errorf("not replayed: %+v", a)
	}
	s.wantPayments(1)
}

func TestWorkThatTakesTooLong(t *testing.T) {
	s := newService(t, func(_ *service, o *setup) { o.kit.MaxRun = time.Second })
	s.work = func(ctx context.Context, _ *structpb.Struct) (any, error) {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	s.pay("order-1", 100).want(t, codes.Unavailable, idempotency.CodeRunTooLong)
	s.wantPayments(0)
}

// What is stored is told even then: nothing is done for it.
func TestALateCallGetsTheStoredReply(t *testing.T) {
	s := newService(t, nil)
	in := func(until string) answer {
		return s.call(by(t.Context(), kitgrpc.MetadataKey, "order-1", kitgrpc.MetadataSendBefore, until), pay, amount(100))
	}
	in("2999-01-01T00:00:00Z").want(t, codes.OK, "")
	if a := in("2001-01-01T00:00:00Z"); a.status.Code() != codes.OK || !a.replayed {
		t.Errorf("%+v", a)
	}
}
