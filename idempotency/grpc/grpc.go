// Package grpc provides interceptors with which a unary gRPC method takes effect once,
// however often a call is repeated. It is a module of its own, so that a service without
// gRPC does not depend on gRPC.
//
// [UnaryServerInterceptor] does for a gRPC server what [idempotency.Kit.Handler] does for
// net/http. Streams have no key ([StreamServerInterceptor]). A client sends the key as
// metadata "idempotency-key", or uses [UnaryClientInterceptor].
package grpc

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/cronce/cronce/idempotency"
)

// Metadata that the interceptors read and write.
const (
	MetadataKey        = "idempotency-key"
	MetadataSendBefore = "cronce-send-before"  // of a call; RFC 3339
	MetadataReplayed   = "idempotent-replayed" // header of a reply; "true", or absent
)

// Options configure [UnaryServerInterceptor]. Only Principal is required.
type Options struct {
	// Principal returns the caller: an authenticated account or client ID, not a token,
	// since tokens change. Two principals can use the same key without conflict. An
	// error or "" is answered UNAUTHENTICATED.
	Principal func(context.Context) (string, error)
	// Skip reports whether a method such as "/shop.v1.Payments/Find" passes through
	// without a key; default none. Methods with idempotency_level = NO_SIDE_EFFECTS and
	// those of gRPC's health service always do.
	Skip func(fullMethod string) bool
	// Final reports whether a handler's error with a code is stored; default
	// [DefaultFinal]. An [idempotency.FinalError] is stored whatever its code.
	Final func(codes.Code) bool
	// Logger logs failures whose details no caller gets; default
	// slog.Default().
	Logger *slog.Logger
}

// MethodScope returns the key scope of a method, "grpc:shop.v1.Payments/Pay", as
// idempotency.Options.TTLs names it.
func MethodScope(fullMethod string) string { return "grpc:" + strings.TrimPrefix(fullMethod, "/") }

// UnaryServerInterceptor returns an interceptor that runs each unary method once for each
// key. The handler gets the transaction through the engine's accessor, such as
// postgres.Tx(ctx), and writes through it. Its reply is sent after the work and the reply
// are committed together. An error rolls the work back. The handler must return before its
// context ends (MaxRun). A canceled call and the caller's deadline do not end the context.
// Other headers and trailers of the handler are not held back and not replayed.
//
// The payload is the request in deterministic protobuf encoding, with the fields that the
// server does not know. So give servers a new field before clients: a retry that arrives
// after the server's update may be refused as another payload.
//
// A panic of the handler goes through, after the rollback. Chain interceptors that
// recover, log and authenticate before this one. Chain none before it that opens a
// transaction of the store: calls inside one are refused.
func UnaryServerInterceptor(kit *idempotency.Kit, o Options) (grpc.UnaryServerInterceptor, error) {
	if kit == nil {
		return nil, errors.New("idempotency/grpc: UnaryServerInterceptor needs a kit; make one with idempotency.New")
	}
	if o.Principal == nil {
		return nil, errors.New("idempotency/grpc: Options.Principal is required: return whose key it is, such as the account that " +
			"the call's token belongs to")
	}
	if o.Final == nil {
		o.Final = DefaultFinal
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	i := &interceptor{kit: kit, opt: o}
	return i.unary, nil
}

// DefaultFinal reports whether the same call would get the code again:
// INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION and
// OUT_OF_RANGE. Every other code leaves the key free, so that the call can be
// tried again.
func DefaultFinal(c codes.Code) bool {
	switch c {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange:
		return true
	default:
		return false
	}
}

type interceptor struct {
	kit *idempotency.Kit
	opt Options
}

// passes reports whether a method needs no key.
func (i *interceptor) passes(fullMethod string) bool {
	return strings.HasPrefix(fullMethod, "/grpc.health.v1.Health/") ||
		(i.opt.Skip != nil && i.opt.Skip(fullMethod)) || hasNoSideEffects(fullMethod)
}

// hasNoSideEffects asks the method's definition, where the program has it.
func hasNoSideEffects(fullMethod string) bool {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(fullMethod, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return false
	}
	options, ok := found.Options().(*descriptorpb.MethodOptions)
	return ok && options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

// deterministic encodes equal messages alike, maps too.
var deterministic = proto.MarshalOptions{Deterministic: true}
