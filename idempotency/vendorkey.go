package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
)

type vendorKeyContext struct{}

type vendorKey struct {
	key      string
	requests atomic.Int64
}

func withVendorKey(ctx context.Context, k Key) context.Context {
	h := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%s", len(k.Scope), k.Scope, len(k.Principal), k.Principal, k.Value))
	return context.WithValue(ctx, vendorKeyContext{}, &vendorKey{key: hex.EncodeToString(h[:16])})
}

// VendorKey is the key under which a [Call] presents itself to the vendor: the
// same whenever the operation is asked for, and in its reconciliation. "" when
// ctx is not of a Call.
func VendorKey(ctx context.Context) string {
	if v, ok := ctx.Value(vendorKeyContext{}).(*vendorKey); ok {
		return v.key
	}
	return ""
}

// nextVendorKey is VendorKey for the requests of one Call after the first,
// which are told apart by their order.
func nextVendorKey(ctx context.Context) string {
	v, ok := ctx.Value(vendorKeyContext{}).(*vendorKey)
	if !ok {
		return ""
	}
	if n := v.requests.Add(1); n > 1 {
		return fmt.Sprintf("%s-%d", v.key, n)
	}
	return v.key
}
