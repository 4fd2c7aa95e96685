package frameworks

import (
	"bufio"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/cronce/cronce/idempotency"
)

// Gin mounts the kit on each route. pay writes through the engine's
// Tx(c.Request.Context()).
func Gin(kit *idempotency.Kit, pay gin.HandlerFunc) *gin.Engine {
	router := gin.New()
	v1 := router.Group("/v1")
	v1.POST("/accounts/:account/payments", ginOnce(kit, idempotency.Route{}, pay))
	v1.POST("/accounts/:account/refunds", ginOnce(kit, idempotency.Route{}, pay))
	return router
}

// ginOnce wraps a handler. It is not a middleware, since the kit may run the handler
// again after a conflict, and c.Next runs it once. gin sets no pattern in the
// request, so the key scope is made of gin's own path.
func ginOnce(kit *idempotency.Kit, route idempotency.Route, handler gin.HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		route := route
		if route.Scope == "" && c.FullPath() != "" {
			route.Scope = idempotency.RouteScope(c.Request.Method, c.FullPath())
		}
		request, writer := c.Request, c.Writer
		defer func() { c.Request, c.Writer = request, writer }()
		kit.Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			held := &ginReply{ResponseWriter: writer, reply: w, status: http.StatusOK, size: -1}
			c.Request, c.Writer = r, held
			handler(c)
			held.WriteHeaderNow()
		})).ServeHTTP(writer, request)
	}
}

// ginReply is gin's writer of a reply that the kit holds back.
type ginReply struct {
	gin.ResponseWriter // of the connection
	reply              http.ResponseWriter
	status             int
	size               int // -1 before the status is written
}

func (r *ginReply) Header() http.Header { return r.reply.Header() }

func (r *ginReply) WriteHeader(status int) {
	if !r.Written() && status > 0 {
		r.status = status
	}
}

func (r *ginReply) WriteHeaderNow() {
	if !r.Written() {
		r.size = 0
		r.reply.WriteHeader(r.status)
	}
}

func (r *ginReply) Write(body []byte) (int, error) {
	r.WriteHeaderNow()
	n, err := r.reply.Write(body)
	r.size += n
	return n, err
}

func (r *ginReply) WriteString(body string) (int, error) { return r.Write([]byte(body)) }
func (r *ginReply) Status() int                          { return r.status }
func (r *ginReply) Size() int                            { return r.size }
func (r *ginReply) Written() bool                        { return r.size >= 0 }
func (r *ginReply) Flush()                               { r.WriteHeaderNow() }
func (r *ginReply) Pusher() http.Pusher                  { return nil }

// Unwrap ends where the kit's own writer does: at the deadlines.
func (r *ginReply) Unwrap() http.ResponseWriter { return r.reply }

// Hijack fails: the connection is the kit's until the commit.
func (r *ginReply) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, http.ErrNotSupported
}
