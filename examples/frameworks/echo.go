package frameworks

import (
	"github.com/labstack/echo/v4"

	"github.com/cronce/cronce/idempotency"
	idempotencyecho "github.com/cronce/cronce/idempotency/echo"
)

// Echo mounts the kit on each route. pay writes through the engine's
// Tx(c.Request().Context()).
func Echo(kit *idempotency.Kit, pay echo.HandlerFunc) *echo.Echo {
	router := echo.New()
	v1 := router.Group("/v1")
	v1.POST("/accounts/:account/payments", pay, idempotencyecho.Middleware(kit, idempotency.Route{}))
	v1.POST("/accounts/:account/refunds", pay, idempotencyecho.Middleware(kit, idempotency.Route{}))
	return router
}
