package frameworks

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/cronce/cronce/idempotency"
)

// Chi mounts the kit in r.With, on each route. chi (v5.2 or later) sets the
// request's pattern, so that the routes need no Route.Scope. In r.Use the kit
// would run before chi has found the route, and refuses every request.
func Chi(kit *idempotency.Kit, pay http.HandlerFunc) http.Handler {
	once := func(next http.Handler) http.Handler { return kit.Handler(idempotency.Route{}, next) }
	router := chi.NewRouter()
	router.Route("/v1", func(v1 chi.Router) {
		v1.With(once).Post("/accounts/{account}/payments", pay) // reads chi.URLParam(r, "account")
		v1.With(once).Post("/accounts/{account}/refunds", pay)
	})
	return router
}
