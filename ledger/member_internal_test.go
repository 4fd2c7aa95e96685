package ledger

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// A new field of Call must be added here: a member has its parent's value, or none.
func TestEachFieldOfACallIsItsParentsOrNot(t *testing.T) {
	of := strings.Fields(`Target Method Path Body ContentType Scopes KeyHeader KeyForm Headers Timeout Backoff Jitter MaxRetryAfter Horizon
		KeySafeFor Within Poll MemberKey AckEarlier`)
	notOf := strings.Fields("MaxInFlight Delay StartWithin FinishWithin Each Heartbeat")
	for f := range reflect.TypeFor[CallSpec]().Fields() {
		var call CallSpec
		field := reflect.ValueOf(&call).Elem().FieldByIndex(f.Index)
		switch f.Type.Kind() {
		case reflect.Slice:
			field.Set(reflect.MakeSlice(f.Type, 1, 1))
		case reflect.Map:
			field.Set(reflect.MakeMap(f.Type))
		case reflect.Pointer:
			field.Set(reflect.New(f.Type.Elem()))
		case reflect.Bool:
			field.SetBool(true)
		case reflect.String:
			field.SetString("x")
		default:
			field.Set(reflect.ValueOf(1).Convert(f.Type))
		}
		r := newMember(&Row{Run: Run{Call: call}}, Member{}, call, time.Time{})
		has := !reflect.ValueOf(r.Call).FieldByIndex(f.Index).IsZero()
		if slices.Contains(of, f.Name) == slices.Contains(notOf, f.Name) || has != slices.Contains(of, f.Name) {
			t.Errorf("a member has %s of its parent: %t; newMember and this test decide it", f.Name, has)
		}
	}
}
