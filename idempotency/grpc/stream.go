package grpc

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/cronce/cronce/idempotency"
)

// StreamServerInterceptor refuses a streaming call that comes with a key
// (UNIMPLEMENTED): its caller would take it for safe to repeat. Calls without a
// key pass through.
func StreamServerInterceptor() grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if md, _ := metadata.FromIncomingContext(stream.Context()); len(md.Get(MetadataKey)) > 0 {
			return refuse(codes.Unimplemented, idempotency.CodeInvalidRequest,
				"streaming methods are not idempotent by key: call without "+MetadataKey)
		}
		return handler(server, stream)
	}
}
