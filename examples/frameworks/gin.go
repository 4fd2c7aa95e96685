package frameworks

import (
	"github.com/gin-gonic/gin"

	"github.com/cronce/cronce/idempotency"
	idempotencygin "github.com/cronce/cronce/idempotency/gin"
)

// Gin mounts the kit on each route. pay writes through the engine's
// Tx(c.Request.Context()).
func Gin(kit *idempotency.Kit, pay gin.HandlerFunc) *gin.Engine {
	router := gin.New()
	v1 := router.Group("/v1")
	v1.POST("/accounts/:account/payments", idempotencygin.Handler(kit, idempotency.Route{}, pay))
	v1.POST("/accounts/:account/refunds", idempotencygin.Handler(kit, idempotency.Route{}, pay))
	return router
}
