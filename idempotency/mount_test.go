package idempotency_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// answering is a handler that answers with its name.
func answering(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(name)) })
}

// ask makes a call under the key "k".
func ask(h http.Handler, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", target, nil)
	r.Header.Set("Idempotency-Key", "k")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func wantAnswer(t *testing.T, h http.Handler, target, want string) {
	t.Helper()
	for n := range 2 {
		w := ask(h, target)
		if replayed := w.Header().Get("Idempotent-Replayed") == "true"; w.Body.String() != want || replayed != (n == 1) {
			t.Errorf("%s, call %d: %d %q, replayed %t; want %q", target, n, w.Code, w.Body, replayed, want)
		}
	}
}

// wantMisplaced: refused, and told what to do.
func wantMisplaced(t *testing.T, h http.Handler, target, advice string) {
	t.Helper()
	w := ask(h, target)
	if w.Code != 500 || !strings.Contains(w.Body.String(), "idempotency_handler_misplaced") || !strings.Contains(w.Body.String(), advice) {
		t.Errorf("%s: %d %q, want a 500 with %q", target, w.Code, w.Body, advice)
	}
}

func TestPatternsOfTwoHostsAreTwoScopes(t *testing.T) {
	w := newWire(t)
	for _, host := range []string{"a.test", "b.test"} {
		w.mux.Handle("POST  "+host+"/pay", w.kit.Handler(idempotency.Route{}, answering(host)))
	}
	wantAnswer(t, w.mux, "http://a.test/pay", "a.test")
	wantAnswer(t, w.mux, "http://b.test/pay", "b.test")
}

func TestAScopeHasThePatternOfItsRoute(t *testing.T) {
	var claims []store.Claim
	for pattern, want := range map[string]string{
		"POST /orders/{id}": "route:POST_/orders/{id}", "/orders/": "route:POST_/orders/",
		"POST a.test/orders/1": "route:POST_a.test/orders/1", "a.test/": "route:POST_a.test/",
	} {
		store := &down{}
		kit, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.Handle(pattern, kit.Handler(idempotency.Route{}, answering("")))
		ask(mux, "http://a.test/orders/1")
		if claims = store.claims; len(claims) == 0 || claims[0].Key.Scope != want {
			t.Errorf("%s: %+v, want the scope %s", pattern, claims, want)
		}
	}
}

func TestTwoHandlersOfOneDefaultScopeAreRefused(t *testing.T) {
	w := newWire(t)
	for _, version := range []string{"/v1", "/v2"} {
		mux := http.NewServeMux()
		mux.Handle("POST /pay", w.kit.Handler(idempotency.Route{}, answering(version)))
		mux.Handle("POST /refund", w.kit.Handler(idempotency.Route{Scope: "refund" + version}, answering(version)))
		w.mux.Handle(version+"/", http.StripPrefix(version, mux))
	}
	wantAnswer(t, w.mux, "/v1/pay", "/v1")
	wantMisplaced(t, w.mux, "/v2/pay", "Set Route.Scope on each")
	wantAnswer(t, w.mux, "/v1/refund", "/v1")
	wantAnswer(t, w.mux, "/v2/refund", "/v2")
}

func TestAKitAroundARouterIsRefused(t *testing.T) {
	w := newWire(t)
	routes := http.NewServeMux()
	routes.Handle("POST /pay", answering("paid"))
	wantMisplaced(t, w.kit.Handler(idempotency.Route{}, routes), "/pay", "Mount it on the route, inside the router")
	w.mux.Handle("/", w.kit.Handler(idempotency.Route{}, routes))
	wantMisplaced(t, w.mux, "/pay", "Mount it on each route, inside the router")
	wantAnswer(t, w.kit.Handler(idempotency.Route{Scope: "all"}, routes), "/pay", "paid")
}

// chi's middleware of a router runs before it has found the route, and that of
// a route after it.
func TestAKitInARouterThatSetsThePatternLater(t *testing.T) {
	w := newWire(t)
	router := func(pattern string, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Pattern = pattern
			next.ServeHTTP(w, r)
		})
	}
	use := w.kit.Handler(idempotency.Route{}, router("/v1/pay", answering("paid")))
	wantMisplaced(t, router("/v1/*", use), "/v1/pay", "Mount it on each route, inside the router")
	with := w.kit.Handler(idempotency.Route{}, answering("paid"))
	wantAnswer(t, router("/v1/*", router("/v1/pay", with)), "/v1/pay", "paid")
}

func TestAHandlerMadeForEachRequestIsRefusedFromTheSecondOn(t *testing.T) {
	w := newWire(t)
	w.mux.HandleFunc("POST /pay", func(rw http.ResponseWriter, r *http.Request) {
		w.kit.Handler(idempotency.Route{}, answering("paid")).ServeHTTP(rw, r)
	})
	if got := ask(w.mux, "/pay"); got.Code != 200 {
		t.Error(got.Code, got.Body)
	}
	wantMisplaced(t, w.mux, "/pay", "Make a handler once")
}

// A client may make up methods, and with them default scopes.
func TestScopesThatClientsMakeUpDoNotPileUp(t *testing.T) {
	w := newWire(t)
	w.mux.Handle("/pay", w.kit.Handler(idempotency.Route{}, answering("paid")))
	for n := range 10_010 {
		r := httptest.NewRequest("M"+strings.Repeat("X", n%100)+string(rune('A'+n/100%26))+string(rune('A'+n/2600)), "/pay", nil)
		ctx, leave := context.WithCancel(t.Context())
		leave() // before the store is asked
		r.Header.Set("Idempotency-Key", "k")
		w.mux.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
	}
	if n := w.kit.Scopes(); n > 10_000 {
		t.Errorf("%d scopes are remembered", n)
	}
}
