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
// status below 400: the reply is then that of echo's error handler.
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
					written := c.Response().Committed && c.Response().Status < http.StatusBadRequest
					if held, ok := w.(interface{ Reset() }); ok && written {
						held.Reset()
						c.SetResponse(echo.NewResponse(w, c.Echo()))
					}
					c.Error(err) // here, where the kit sees the status
				}
			})).ServeHTTP(response, request)
			return nil
		}
	}
}
