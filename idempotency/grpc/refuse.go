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

// ErrorDomain is the domain of the google.rpc.ErrorInfo in the kit's own errors. The reason
// in it is one of the codes of [idempotency.Problem], such as
// idempotency.CodeMismatch. The status is
//   - INVALID_ARGUMENT for a missing or invalid key or send-before time,
//   - UNAUTHENTICATED for a call without a principal,
//   - FAILED_PRECONDITION for another payload, a call after its send-before time, and
//     an unknown outcome,
//   - ABORTED, with google.rpc.RetryInfo, for a key in progress,
//   - UNAVAILABLE, with google.rpc.RetryInfo, if the store does not answer or the work
//     took longer than MaxRun,
//   - INTERNAL for a commit that failed, a transaction that the handler ended, a reply
//     that in base64 is larger than MaxStoredBody, and an interceptor that is chained
//     twice, runs inside a transaction or meets a message that is not protobuf.
const ErrorDomain = "github.com/cronce/cronce/idempotency"

// errNoMessage: the interceptor cannot tell the payloads of a method apart, or
// cannot store its replies.
var errNoMessage = errors.New("the idempotency interceptor serves methods whose requests and replies are protobuf messages " +
	"that the program has registered: skip this one")

// refusals are the kit's errors, in the order in which they count, and what a
// caller is told.
var refusals = []struct {
	err             error
	code            codes.Code
	reason, message string
}{
	{idempotency.ErrTxEnded, codes.Internal, idempotency.CodeTxEnded,
		"the operation ended its transaction itself: it is not known whether it was done, and it is not repeated under this key"},
	{idempotency.ErrMismatch, codes.FailedPrecondition, idempotency.CodeMismatch,
		"the idempotency key was used with another request: repeat that one, or use a new key"},
	{idempotency.ErrTooLate, codes.FailedPrecondition, idempotency.CodeTooLate,
		"the time in " + MetadataSendBefore + " has passed and no reply is stored: nothing was done"},
	{idempotency.ErrOutcomeUnknown, codes.FailedPrecondition, idempotency.CodeOutcomeUnknown,
		"a call to another system was made under this idempotency key and its outcome is not known: it is not repeated until that is settled"},
	{idempotency.ErrInProgress, codes.Aborted, idempotency.CodeInProgress,
		"the first call with this idempotency key is still in progress: ask again with the same key"},
	{idempotency.ErrRunTooLong, codes.Unavailable, idempotency.CodeRunTooLong,
		"the operation took longer than this service allows and was rolled back: ask again with the same key"},
	{idempotency.ErrReplyTooLarge, codes.Internal, idempotency.CodeReplyTooLarge,
		"the reply is larger than this service allows under an idempotency key: the operation was rolled back"},
	{idempotency.ErrTxAborted, codes.Internal, idempotency.CodeTxAborted,
		"the database refused to commit the operation and rolled it back: ask again with the same key"},
	{errNoMessage, codes.Internal, idempotency.CodeMisplaced, errNoMessage.Error()},
}

// refuse answers for a call that was not committed. The handler's own error is
// answered as it is.
func (i *interceptor) refuse(ctx context.Context, op idempotency.Operation, err error) error {
	answer := refusalOf(err)
	if f := (failed{}); answer == nil && errors.As(err, &f) {
		return f.cause
	}
	if answer == nil {
		answer = refuse(codes.Unavailable, idempotency.CodeUnavailable,
			"whether this idempotency key was used before cannot be looked up now: ask again with the same key")
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
			return refuse(r.code, r.reason, r.message)
		}
	}
	return nil
}

// refuse is an error of the interceptor's own. Where asking again soon may help
// it says so.
func refuse(c codes.Code, reason, message string) error {
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Domain: ErrorDomain, Reason: reason}}
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
