package grpc_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/cronce/cronce/idempotency"
	kitgrpc "github.com/cronce/cronce/idempotency/grpc"
)

// register does what generated code does: the program knows the service's
// definition, in which Find has no side effects.
var register = sync.OnceValue(func() error {
	method := func(name string, level descriptorpb.MethodOptions_IdempotencyLevel) *descriptorpb.MethodDescriptorProto {
		return &descriptorpb.MethodDescriptorProto{Name: proto.String(name),
			InputType: proto.String(".google.protobuf.Struct"), OutputType: proto.String(".google.protobuf.Struct"),
			Options: &descriptorpb.MethodOptions{IdempotencyLevel: level.Enum()}}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("shop.proto"), Package: proto.String("shop.v1"), Syntax: proto.String("proto3"),
		Dependency: []string{"google/protobuf/struct.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Payments"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Pay", descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN),
			method("Refund", descriptorpb.MethodOptions_IDEMPOTENT),
			method("Find", descriptorpb.MethodOptions_NO_SIDE_EFFECTS),
		}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		return err
	}
	return protoregistry.GlobalFiles.RegisterFile(file)
})

func TestMethodsWithoutSideEffectsNeedNoKey(t *testing.T) {
	check(t, register())
	s := newService(t, nil)
	s.call(by(t.Context()), find, amount(1)).want(t, codes.OK, "")
	s.call(by(t.Context()), refund, amount(1)).want(t, codes.InvalidArgument, idempotency.CodeMissingKey)
	s.wantRuns(1)
	s.wantPayments(0)
}

func TestMethodsThatAreSkippedNeedNoKey(t *testing.T) {
	s := newService(t, func(_ *service, o *setup) {
		o.options.Skip = func(method string) bool { return method == refund }
	})
	s.call(by(t.Context()), refund, amount(1)).want(t, codes.OK, "")
	s.call(by(t.Context()), pay, amount(1)).want(t, codes.InvalidArgument, idempotency.CodeMissingKey)
}

func TestHealthChecksNeedNoKey(t *testing.T) {
	interceptor, err := kitgrpc.UnaryServerInterceptor(&idempotency.Kit{}, kitgrpc.Options{Principal: account})
	check(t, err)
	reply, err := interceptor(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/grpc.health.v1.Health/Check"},
		func(context.Context, any) (any, error) { return "serving", nil })
	if reply != "serving" || err != nil {
		t.Error(reply, err)
	}
}

// Payloads of other codecs than protobuf cannot be told apart.
func TestARequestThatIsNoMessage(t *testing.T) {
	s := newService(t, nil)
	interceptor, err := kitgrpc.UnaryServerInterceptor(s.kit, kitgrpc.Options{Principal: account})
	check(t, err)
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("account", "alice", kitgrpc.MetadataKey, "order-1"))
	_, err = interceptor(ctx, "text", &grpc.UnaryServerInfo{FullMethod: pay}, func(context.Context, any) (any, error) {
		t.Error("the handler ran")
		return nil, nil
	})
	answer{status: status.Convert(err)}.want(t, codes.Internal, idempotency.CodeMisplaced)
}

func TestAStreamTakesNoKey(t *testing.T) {
	s := newService(t, nil)
	receive := func(more ...string) error {
		stream, err := s.conn.NewStream(by(t.Context(), more...), &grpc.StreamDesc{ServerStreams: true}, watch)
		check(t, err)
		check(t, stream.CloseSend())
		for {
			if err := stream.RecvMsg(&structpb.Struct{}); err != nil {
				return err
			}
		}
	}
	if err := receive(); !errors.Is(err, io.EOF) {
		t.Errorf("without a key: %v", err)
	}
	answer{status: status.Convert(receive(kitgrpc.MetadataKey, "a"))}.want(t, codes.Unimplemented, idempotency.CodeInvalidRequest)
}

// The retries of gRPC's own are one call, under one key.
func TestAClientNamesEachCall(t *testing.T) {
	var keys []string // of the attempts, one after the other
	lost := 0
	s := newService(t, func(_ *service, o *setup) {
		o.dial = []grpc.DialOption{
			grpc.WithUnaryInterceptor(kitgrpc.UnaryClientInterceptor()),
			grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 3,
				"initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`),
		}
		// The reply of each first attempt is lost.
		o.outside = append(o.outside, func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			keys = append(keys, md.Get(kitgrpc.MetadataKey)...)
			reply, err := next(ctx, request)
			if len(md.Get("grpc-previous-rpc-attempts")) == 0 {
				lost++
				return nil, status.Error(codes.Unavailable, "lost")
			}
			return reply, err
		})
	})
	for range 2 {
		s.call(by(t.Context()), pay, amount(100)).want(t, codes.OK, "")
	}
	s.pay("mine", 100).want(t, codes.OK, "")
	if lost != 3 || len(keys) != 6 || keys[0] != keys[1] || keys[1] == keys[2] || keys[2] != keys[3] || keys[4] != "mine" || keys[5] != "mine" {
		t.Errorf("%d replies lost, keys %q", lost, keys)
	}
	s.wantPayments(3)
}
