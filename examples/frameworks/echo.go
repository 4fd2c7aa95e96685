package frameworks

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/cronce/cronce/idempotency"
)

// Echo mounts the kit on each route. pay writes through the engine's
// Tx(c.Request().Context()).
func Echo(kit *idempotency.Kit, pay echo.HandlerFunc) *echo.Echo {
	router := echo.New()
	v1 := router.Group("/v1")
	v1.POST("/accounts/:account/payments", pay, echoOnce(kit, idempotency.Route{}))
	v1.POST("/accounts/:account/refunds", pay, echoOnce(kit, idempotency.Route{}))
	return router
}

// echoOnce is middleware of a route. echo sets no pattern in the request, so the
// key scope is made of echo's own path. Before the router (Echo.Pre) there is none,
// and the kit refuses the request.
func echoOnce(kit *idempotency.Kit, route idempotency.Route) echo.MiddlewareFunc {
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
					c.Error(err) // here, where the kit sees the status
				}
			})).ServeHTTP(response, request)
			return nil
		}
	}
}
