package grpc_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/cronce/cronce/idempotency"
	kitgrpc "github.com/cronce/cronce/idempotency/grpc"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Methods of the service. Find declares that it has no side effects.
const (
	pay    = "/shop.v1.Payments/Pay"
	refund = "/shop.v1.Payments/Refund"
	find   = "/shop.v1.Payments/Find"
	watch  = "/shop.v1.Payments/Watch" // a stream
)

// service takes payments on PostgreSQL, behind the interceptor.
type service struct {
	*testing.T
	pool  *pgxpool.Pool
	store *postgres.Store
	kit   *idempotency.Kit
	conn  *grpc.ClientConn
	runs  atomic.Int32
	// work is a method's, after its effect is written.
	work func(ctx context.Context, request *structpb.Struct) (any, error)
}

// setup is what a test changes of a service.
type setup struct {
	kit      idempotency.Options
	options  kitgrpc.Options
	outside  []grpc.UnaryServerInterceptor // of the kit's
	inside   []grpc.UnaryServerInterceptor
	dial     []grpc.DialOption
	database string // another one than a fresh one
}

func newService(t *testing.T, change func(*service, *setup)) *service {
	t.Helper()
	s := &service{T: t, work: func(_ context.Context, request *structpb.Struct) (any, error) {
		return structpb.NewStruct(map[string]any{"paid": request.Fields["amount"].GetNumberValue(), "currency": "EUR", "fee": 1})
	}}
	o := setup{
		kit:     idempotency.Options{Principal: idempotency.SinglePrincipal("-"), Wait: time.Minute, StoreTimeout: time.Minute},
		options: kitgrpc.Options{Principal: account},
		outside: []grpc.UnaryServerInterceptor{recovers},
	}
	s.connect(testdb.Postgres(t))
	if change != nil {
		change(s, &o)
	}
	if o.database != "" {
		s.pool = newPool(t, o.database)
		s.store = postgres.New(s.pool, postgres.Options{})
	}
	var err error
	s.kit, err = idempotency.New(s.store, o.kit)
	check(t, err)
	interceptor, err := kitgrpc.UnaryServerInterceptor(s.kit, o.options)
	check(t, err)
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(slices.Concat(o.outside, []grpc.UnaryServerInterceptor{interceptor}, o.inside)...),
		grpc.ChainStreamInterceptor(kitgrpc.StreamServerInterceptor()))
	server.RegisterService(s.description(), s)
	listener := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.GracefulStop()
		check(t, <-served)
	})
	s.conn, err = grpc.NewClient("passthrough:payments", append(o.dial,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	check(t, err)
	t.Cleanup(func() { s.conn.Close() })
	return s
}

// connect opens the service's database and makes its tables.
func (s *service) connect(url string) {
	s.Helper()
	db, err := sql.Open("pgx", url)
	check(s, err)
	defer db.Close()
	err = pgsql.New(db, pgsql.Options{}).CreateTable(s.Context())
	check(s, err)
	_, err = db.Exec(`CREATE TABLE payments (amount int, n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
	check(s, err)
	s.pool = newPool(s.T, url)
	s.store = postgres.New(s.pool, postgres.Options{})
}

func newPool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	check(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// description is what protoc-gen-go-grpc makes of a service.
func (s *service) description() *grpc.ServiceDesc {
	unary := func(name string) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(server any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			request := &structpb.Struct{}
			if err := decode(request); err != nil {
				return nil, err
			}
			return interceptor(ctx, request, &grpc.UnaryServerInfo{Server: server, FullMethod: "/shop.v1.Payments/" + name},
				func(ctx context.Context, request any) (any, error) { return s.handle(ctx, request.(*structpb.Struct)) })
		}}
	}
	return &grpc.ServiceDesc{
		ServiceName: "shop.v1.Payments",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{unary("Pay"), unary("Refund"), unary("Find")},
		Streams: []grpc.StreamDesc{{StreamName: "Watch", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			return stream.SendMsg(&structpb.Struct{})
		}}},
	}
}

func (s *service) handle(ctx context.Context, request *structpb.Struct) (any, error) {
	s.runs.Add(1)
	if s.store.InTransaction(ctx) { // else the method has no key
		if _, err := postgres.Tx(ctx).Exec(ctx, `INSERT INTO payments (amount) VALUES ($1)`, int(request.Fields["amount"].GetNumberValue())); err != nil {
			return nil, err
		}
	}
	return s.work(ctx, request)
}

// account is whose key it is: what the call's authentication has proved.
func account(ctx context.Context) (string, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if names := md.Get("account"); len(names) == 1 {
		return names[0], nil
	}
	return "", errors.New("not logged in")
}

func recovers(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Errorf(codes.Internal, "panic: %v", p)
		}
	}()
	return next(ctx, request)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answer is what a caller gets.
type answer struct {
	reply    *structpb.Struct
	status   *status.Status
	replayed bool
}

// by is a caller's context: alice's, with more metadata.
func by(ctx context.Context, more ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, append([]string{"account", "alice"}, more...)...)
}

func amount(n int) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"amount": structpb.NewNumberValue(float64(n))}}
}

// call makes a call as it stands.
func (s *service) call(ctx context.Context, method string, request *structpb.Struct) answer {
	header, reply := metadata.MD{}, &structpb.Struct{}
	err := s.conn.Invoke(ctx, method, request, reply, grpc.Header(&header))
	return answer{reply, status.Convert(err), slices.Equal(header.Get("idempotent-replayed"), []string{"true"})}
}

// pay is alice's call under a key.
func (s *service) pay(key string, n int) answer {
	return s.call(by(s.Context(), kitgrpc.MetadataKey, key), pay, amount(n))
}

func (s *service) wantRuns(want int32) {
	s.Helper()
	if got := s.runs.Load(); got != want {
		s.Errorf("the handler ran %d times, want %d", got, want)
	}
}

func (s *service) wantPayments(want int) {
	s.Helper()
	var got int
	check(s, s.pool.QueryRow(context.Background(), `SELECT count(*) FROM payments`).Scan(&got))
	if got != want {
		s.Errorf("%d payments, want %d", got, want)
	}
}

// reason is that of the answer's ErrorInfo, and whether it says when to retry.
func (a answer) reason() (reason string, again bool) {
	for _, detail := range a.status.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			if d.Domain == kitgrpc.ErrorDomain {
				reason = d.Reason
			}
		case *errdetails.RetryInfo:
			again = d.RetryDelay.AsDuration() > 0
		}
	}
	return reason, again
}

// want: a status, without or with the reason of one of the kit's own refusals.
func (a answer) want(t *testing.T, code codes.Code, reason string) {
	t.Helper()
	got, again := a.reason()
	if a.status.Code() != code || got != reason {
		t.Errorf("answered %s %q (reason %q), want %s with the reason %q", a.status.Code(), a.status.Message(), got, code, reason)
	}
	if soon := reason != "" && (code == codes.Aborted || code == codes.Unavailable); again != soon {
		t.Errorf("%s %q: asks to be called again: %t, want %t", code, reason, again, soon)
	}
}
