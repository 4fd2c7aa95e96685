package grpc

import (
	"context"
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cronce/cronce/idempotency"
)

// Domain is that of the google.rpc.ErrorInfo in the kit's own errors. The reason
// in it is one of the codes of [idempotency.Problem], such as
// idempotency.CodeMismatch.
const Domain = "github.com/cronce/cronce/idempotency"

// errNoMessage: the interceptor cannot tell the payloads of a method apart, or
// cannot store its replies.
var errNoMessage = errors.New("the idempotency interceptor serves methods whose requests and replies are protobuf messages that the program has registered: skip this one")

// refusals are the kit's errors, in the order in which they count.
var refusals = []struct {
	err    error
	code   codes.Code
	reason string
}{
	{idempotency.ErrTxEnded, codes.Internal, idempotency.CodeTxEnded},
	{idempotency.ErrMismatch, codes.FailedPrecondition, idempotency.CodeMismatch},
	{idempotency.ErrTooLate, codes.FailedPrecondition, idempotency.CodeTooLate},
	{idempotency.ErrOutcomeUnknown, codes.FailedPrecondition, idempotency.CodeOutcomeUnknown},
	{idempotency.ErrInProgress, codes.Aborted, idempotency.CodeInProgress},
	{idempotency.ErrRunTooLong, codes.Unavailable, idempotency.CodeRunTooLong},
	{idempotency.ErrReplyTooLarge, codes.Internal, idempotency.CodeReplyTooLarge},
	{idempotency.ErrTxAborted, codes.Internal, idempotency.CodeTxAborted},
	{errNoMessage, codes.Internal, idempotency.CodeMisplaced},
}

// refuse answers for a call that was not committed. The handler's own error is
// answered as it is.
func (i *interceptor) refuse(ctx context.Context, op idempotency.Operation, err error) error {
	answer := refusalOf(err)
	if f := (failed{}); answer == nil && errors.As(err, &f) {
		return f.cause
	}
	if answer == nil {
		answer = refuse(codes.Unavailable, idempotency.CodeUnavailable, idempotency.ErrUnavailable.Error())
	}
	if c := status.Code(answer); c == codes.Internal || c == codes.Unavailable {
		i.opt.Logger.ErrorContext(ctx, "idempotent call failed", "code", c.String(),
			"scope", op.Scope, "principal", op.Principal, "key", op.Key, "error", err)
	}
	return answer
}

// refusalOf translates an error of the kit; nil: it is none that has a code.
func refusalOf(err error) error {
	if _, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return err
	}
	if errors.Is(err, idempotency.ErrInvalidKey) {
		return refuse(codes.InvalidArgument, idempotency.CodeInvalidKey, err.Error())
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return refuse(r.code, r.reason, r.err.Error())
		}
	}
	return nil
}

// refuse is an error of the interceptor's own. Where asking again soon may help
// it says so.
func refuse(c codes.Code, reason, message string) error {
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Domain: Domain, Reason: reason}}
	if c == codes.Aborted || c == codes.Unavailable {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)})
	}
	s, err := status.New(c, message).WithDetails(details...)
	if err != nil { // a message that is none can have no details
		return status.Error(c, message)
	}
	return s.Err()
}

// statusOf is what a server makes of a handler's error.
func statusOf(err error) *status.Status {
	if s, ok := status.FromError(err); ok {
		return s
	}
	return status.FromContextError(err)
}
