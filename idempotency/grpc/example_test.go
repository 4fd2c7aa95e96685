package grpc_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cronce/cronce/idempotency"
	kitgrpc "github.com/cronce/cronce/idempotency/grpc"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// A server with one method. The handler's insert, the key and the reply are one
// transaction; the second call is answered from the key.
func ExampleUnaryServerInterceptor() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(filepath.Join(dir, "service.db"))
	must(err)
	defer db.Close()
	ctx := context.Background()
	err = sqlite.New(db, sqlite.Options{}).CreateTable(ctx)
	must(err)
	_, err = db.ExecContext(ctx, `CREATE TABLE payments (amount INTEGER)`)
	must(err)

	kit, err := idempotency.New(sqlite.New(db, sqlite.Options{}), idempotency.Options{
		Principal: idempotency.SinglePrincipal("-"), // this service has no HTTP routes
	})
	must(err)
	once, err := kitgrpc.UnaryServerInterceptor(kit, kitgrpc.Options{Principal: account}) // as the authentication before it has proved
	must(err)
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(once), // logging, recovery and authentication go before it
		grpc.ChainStreamInterceptor(kitgrpc.StreamServerInterceptor()))
	server.RegisterService(payments(func(ctx context.Context, amount *wrapperspb.Int64Value) (*wrapperspb.StringValue, error) {
		_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO payments VALUES (?)`, amount.Value)
		return wrapperspb.String("paid"), err
	}), nil)
	listener := bufconn.Listen(1 << 20)
	go server.Serve(listener)
	defer server.Stop()

	conn, err := grpc.NewClient("passthrough:payments", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	must(err)
	defer conn.Close()
	ctx = metadata.AppendToOutgoingContext(ctx, "account", "alice", "idempotency-key", "order-1")
	for range 2 {
		reply, header := &wrapperspb.StringValue{}, metadata.MD{}
		must(conn.Invoke(ctx, "/shop.v1.Payments/Pay", wrapperspb.Int64(100), reply, grpc.Header(&header)))
		fmt.Printf("%s replayed=%q\n", reply.Value, header.Get("idempotent-replayed"))
	}
	var count int
	must(db.QueryRow(`SELECT count(*) FROM payments`).Scan(&count))
	fmt.Println("payments:", count)
	// Output:
	// paid replayed=[]
	// paid replayed=["true"]
	// payments: 1
}

// payments is what protoc-gen-go-grpc generates for the service.
func payments(pay func(context.Context, *wrapperspb.Int64Value) (*wrapperspb.StringValue, error)) *grpc.ServiceDesc {
	return &grpc.ServiceDesc{ServiceName: "shop.v1.Payments", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Pay",
		Handler: func(server any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			amount := &wrapperspb.Int64Value{}
			if err := decode(amount); err != nil {
				return nil, err
			}
			return interceptor(ctx, amount, &grpc.UnaryServerInfo{Server: server, FullMethod: "/shop.v1.Payments/Pay"},
				func(ctx context.Context, amount any) (any, error) { return pay(ctx, amount.(*wrapperspb.Int64Value)) })
		},
	}}}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
