package web

import (
	"maps"
	"testing"

	"github.com/cronce/cronce/internal/operations"
)

func TestEachActionHasItsForm(t *testing.T) {
	forms := maps.Clone(actionForms)
	for _, a := range operations.Actions {
		if form := actionForms[a.Name]; form.preview == nil || form.notice == nil || form.subject == "" && form.read == nil {
			t.Errorf("the action %q has no row in actionForms, or one without a page, a notice, or what it is for", a.Name)
		}
		delete(forms, a.Name)
	}
	for name := range forms {
		t.Errorf("actionForms has %q, which is no action", name)
	}
}
