// Package idempotencyecho mounts the idempotency kit on the routes of echo.
package idempotencyecho

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/cronce/cronce/idempotency"
)

// Middleware returns middleware of a route that runs the handler at most once for each key,
// as [idempotency.Kit.Handler] does. The handler writes through the engine's
// Tx(c.Request().Context()). An empty route.Scope is the method with echo's path of the
// route. Before the router (Echo.Pre) there is no path, and the kit refuses the request.
//
// A handler that returns an error has failed, also after it has written a reply with a
// status below 400: the reply is then that of echo's error handler. If that has a status
// below 400 too, or the error handler writes none, the reply is an empty 500.
func Middleware(kit *idempotency.Kit, route idempotency.Route) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			route := route
			if route.Scope == "" && c.Path() != "" {
				route.Scope = idempotency.RouteScope(c.Request().Method, c.Path())
			}
			request, response := c.Request(), c.Response()
			defer func() {
				c.SetRequest(request)
				c.SetResponse(response)
			}()
			kit.Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.SetRequest(r)
				c.SetResponse(echo.NewResponse(w, c.Echo()))
				if err := next(c); err != nil {
					fail(c, w, err)
				}
			})).ServeHTTP(response, request)
			return nil
		}
	}
}

// fail replies to an error of the handler, inside of the kit, which decides by the status.
func fail(c echo.Context, w http.ResponseWriter, err error) {
	held, ok := w.(interface{ Reset() })
	if !ok { // the reply to a GET, which the kit does not hold back
		c.Error(err)
		return
	}
	discard := func() {
		held.Reset()
		c.SetResponse(echo.NewResponse(w, c.Echo()))
	}
	if c.Response().Committed && c.Response().Status < http.StatusBadRequest {
		discard()
	}
	c.Error(err)
	if !c.Response().Committed || c.Response().Status < http.StatusBadRequest {
		discard()
		c.Response().WriteHeader(http.StatusInternalServerError)
	}
}
