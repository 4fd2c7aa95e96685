package grpc

import (
	"context"
	"crypto/rand"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// UnaryClientInterceptor gives each call without a key a random one. The client's
// own retries (retryPolicy of the service config) and those of interceptors that
// are chained after this one repeat it. A caller that repeats calls itself, or
// whose process may die between, sets the key:
// metadata.AppendToOutgoingContext(ctx, MetadataKey, orderID).
func UnaryClientInterceptor() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption) error {
		if md, _ := metadata.FromOutgoingContext(ctx); len(md.Get(MetadataKey)) == 0 {
			ctx = metadata.AppendToOutgoingContext(ctx, MetadataKey, rand.Text())
		}
		return invoke(ctx, method, request, reply, conn, opts...)
	}
}
