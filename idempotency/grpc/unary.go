package grpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/cronce/cronce/idempotency"
)

func (i *interceptor) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if i.passes(info.FullMethod) {
		return handler(ctx, request)
	}
	op, err := i.operation(ctx, request, info.FullMethod)
	if err != nil {
		return nil, i.refuse(ctx, op, err)
	}
	w := work{final: i.opt.Final, handle: func(ctx context.Context) (any, error) { return handler(ctx, request) }}
	result, duplicate, err := idempotency.Do(ctx, i.kit, op, w.run)
	_, final := err.(*idempotency.FinalError) //nolint:errorlint // Do returns it unwrapped
	switch {
	case duplicate && (err == nil || final):
		reply, answer, err := result.decode()
		if err != nil {
			return nil, i.refuse(ctx, op, err)
		}
		_ = grpc.SetHeader(ctx, metadata.Pairs(MetadataReplayed, "true")) // fails outside of a server only
		return reply, answer
	case err == nil || final:
		return w.reply, w.err
	default:
		return nil, i.refuse(ctx, op, err)
	}
}

// operation reads from a call what names it.
func (i *interceptor) operation(ctx context.Context, request any, method string) (op idempotency.Operation, err error) {
	op.Scope = MethodScope(method)
	if i.kit.InTransaction(ctx) {
		return op, refuse(codes.Internal, idempotency.CodeMisplaced,
			"the idempotency interceptor runs inside a transaction, and would answer before that is committed:"+
				" chain it once, and before what opens a transaction")
	}
	md, _ := metadata.FromIncomingContext(ctx)
	if op.Key, err = key(md.Get(MetadataKey)); err != nil {
		return op, err
	}
	op.Principal, err = i.opt.Principal(ctx)
	if err != nil || op.Principal == "" || len(op.Principal) > idempotency.MaxPrincipalLength {
		return op, refuse(codes.Unauthenticated, idempotency.CodeNoPrincipal,
			"keys belong to a caller, and this call does not prove who makes it")
	}
	if op.SendBefore, err = sendBefore(md.Get(MetadataSendBefore)); err != nil {
		return op, err
	}
	op.Payload, err = newPayload(method, request)
	return op, err
}

func key(values []string) (string, error) {
	switch len(values) {
	case 0:
		return "", refuse(codes.InvalidArgument, idempotency.CodeMissingKey,
			"send the metadata "+MetadataKey+": 1 to 128 characters that name this operation, the same on every retry")
	case 1:
		return idempotency.ParseKey(values[0])
	default:
		return "", fmt.Errorf("%w: more than one %s", idempotency.ErrInvalidKey, MetadataKey)
	}
}

func sendBefore(values []string) (at time.Time, err error) {
	switch len(values) {
	case 0:
		return time.Time{}, nil
	case 1:
		at, err = time.Parse(time.RFC3339, values[0])
	}
	if err != nil || len(values) > 1 {
		return time.Time{}, refuse(codes.InvalidArgument, idempotency.CodeInvalidRequest,
			MetadataSendBefore+" must be one RFC 3339 time, such as 2026-11-21T03:00:00Z")
	}
	return at, nil
}

// work is one call's. The kit may run it several times, after conflicts with
// other transactions; what it holds is of the last run.
type work struct {
	handle func(context.Context) (any, error)
	final  func(codes.Code) bool
	reply  any
	err    error // the handler's
}

func (w *work) run(ctx context.Context) (stored, error) {
	w.reply, w.err = w.handle(ctx)
	final := (*idempotency.FinalError)(nil)
	marked := errors.As(w.err, &final)
	if marked && final == w.err && final.Unwrap() != nil { //nolint:errorlint // not one that the handler wrapped
		w.err = final.Unwrap() // which has the status
	}
	switch {
	case ctx.Err() != nil:
		return stored{}, idempotency.ErrRunTooLong
	case w.err == nil:
		return storedReply(w.reply)
	case marked || w.final(statusOf(w.err).Code()):
		w.reply = nil
		s, err := storedStatus(statusOf(w.err))
		if err != nil {
			return stored{}, err
		}
		return s, idempotency.Final(w.err)
	default:
		return stored{}, failed{w.err}
	}
}

// failed is a handler's error that leaves the key free. It does not unwrap: an
// error of the kit in it is the handler's affair.
type failed struct{ cause error }

func (f failed) Error() string { return f.cause.Error() }
