// Package idempotencygin mounts the idempotency kit on the routes of gin.
package idempotencygin

import (
	"bufio"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/cronce/cronce/idempotency"
)

// Handler returns a handler that runs another one at most once for each key, as
// [idempotency.Kit.Handler] does. The handler writes through the engine's
// Tx(c.Request.Context()). An empty route.Scope is the method with gin's path of the route.
//
// It is not middleware, since the kit may run the handler again after a conflict, and c.Next
// runs it once. Middleware of the route runs around it, once. A handler that calls c.Error and
// writes no reply has failed: the reply is its status, or 500 if that is not an error. A written
// reply counts also if it calls c.Error, which sends nothing. Middleware that replies to c.Errors
// comes too late for the kit, which has stored or undone the effect.
func Handler(kit *idempotency.Kit, route idempotency.Route, handler gin.HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		route := route
		if route.Scope == "" && c.FullPath() != "" {
			route.Scope = idempotency.RouteScope(c.Request.Method, c.FullPath())
		}
		request, writer, earlier := c.Request, c.Writer, len(c.Errors)
		defer func() { c.Request, c.Writer = request, writer }()
		kit.Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			held := &reply{ResponseWriter: writer, held: w, status: http.StatusOK, size: -1}
			c.Request, c.Writer = r, held
			c.Errors = c.Errors[:earlier] // of a run before this one
			handler(c)
			if len(c.Errors) > earlier && held.status < 400 && !held.Written() {
				held.WriteHeader(http.StatusInternalServerError)
			}
			held.WriteHeaderNow()
		})).ServeHTTP(writer, request)
	}
}

// reply is gin's writer of a reply that the kit holds back.
type reply struct {
	gin.ResponseWriter // of the connection
	held               http.ResponseWriter
	status             int
	size               int // -1 before the status is written
}

func (r *reply) Header() http.Header { return r.held.Header() }

func (r *reply) WriteHeader(status int) {
	if !r.Written() && status > 0 {
		r.status = status
	}
}

func (r *reply) WriteHeaderNow() {
	if !r.Written() {
		r.size = 0
		r.held.WriteHeader(r.status)
	}
}

func (r *reply) Write(body []byte) (int, error) {
	r.WriteHeaderNow()
	n, err := r.held.Write(body)
	r.size += n
	return n, err
}

func (r *reply) WriteString(body string) (int, error) { return r.Write([]byte(body)) }
func (r *reply) Status() int                          { return r.status }
func (r *reply) Size() int                            { return r.size }
func (r *reply) Written() bool                        { return r.size >= 0 }
func (r *reply) Flush()                               { r.WriteHeaderNow() }
func (r *reply) Pusher() http.Pusher                  { return nil }

// Unwrap ends where the kit's own writer does: at the deadlines.
func (r *reply) Unwrap() http.ResponseWriter { return r.held }

// Hijack fails: the connection is the kit's until the commit.
func (r *reply) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, http.ErrNotSupported
}
