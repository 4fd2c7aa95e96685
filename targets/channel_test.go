package targets_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/idempotency/verify"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// told makes the calls to a registry's channels and heartbeats, all at one address.
func told(t *testing.T, url string, entries ...jobs.Entry) *targets.Targets {
	t.Helper()
	reg, err := jobs.NewRegistry(append(entries, jobs.Name("acme"))...)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := targets.New(targets.Config{Registry: reg, Lookup: env{"URL": url, "SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}.lookup})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ts.Close)
	return ts
}

// The webhook-id of a notification has no full stop, whatever its channel and its
// incident, so that what is signed, ID.TIME.BODY, is read in one way. It is the
// same when the notification is sent again.
func TestTheWebhookIDOfANotification(t *testing.T) {
	var ids []string
	verifier, err := verify.NewHMAC("acme", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, verifier.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ids = append(ids, r.Header.Get("Webhook-Id"))
	})).ServeHTTP)
	hub := jobs.Channel{Name: "hub.eu", Type: jobs.ChannelWebhook, URLEnv: "URL", Secret: jobs.Secret{Env: "SECRET"}}
	ts := told(t, s.URL, hub)
	for _, token := range []string{"i12.3-opened", "i12.3-opened", "i1.23-opened"} {
		c := executor.Call{Registry: "acme", Work: ledger.Work{
			RunID: hub.JobID() + "@2026-11-21T03:00:00Z~" + token, JobID: hub.JobID(), Attempt: 1,
			Call: ledger.CallSpec{Target: hub.Target(), Method: "POST", Body: []byte(`{"a":1}`), ContentType: "application/cloudevents+json"},
		}}
		if a := attempt(t, ts, c, maxWait); a.Kind != ledger.AnswerFresh {
			t.Fatalf("%s: %+v", token, a)
		}
	}
	const first = "notify-hub%2Eeu@2026-11-21T03:00:00Z~i12%2E3-opened"
	if want := []string{first, first, "notify-hub%2Eeu@2026-11-21T03:00:00Z~i1%2E23-opened"}; !slices.Equal(ids, want) {
		t.Errorf("webhook-ids %q, want %q", ids, want)
	}
}

// The address of a channel may have a query, as of receivers that are known by a key.
// It is kept, and no error shows its values.
func TestTheAddressOfAChannelMayHaveAQuery(t *testing.T) {
	var got []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.String())
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"code":"hush7c9e6679","title":"no such key: %s"}`, r.URL.RawQuery)
	})
	hub := jobs.Channel{Name: "hub", Type: jobs.ChannelWebhook, URLEnv: "URL"}
	alerts := jobs.Channel{Name: "alerts", Type: jobs.ChannelAlertmanager, URLEnv: "URL"}
	ts := told(t, s.URL+"/hook?v=1&sig=hush7c9e6679", hub, alerts)
	for _, to := range []struct{ target, path string }{{hub.Target(), ""}, {alerts.Target(), "/api/v2/alerts"}} {
		c := call()
		c.Call.Target, c.Call.Path = to.target, to.path
		a := attempt(t, ts, c, maxWait)
		if a.Kind != ledger.AnswerRefused || strings.Contains(fmt.Sprintf("%+v", a), "hush") {
			t.Errorf("%+v: %+v", to, a)
		}
	}
	if want := []string{"/hook?v=1&sig=hush7c9e6679", "/hook/api/v2/alerts?v=1&sig=hush7c9e6679"}; !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
}

// A receiver may repeat what it was sent, within a code of its own.
func TestNoPartOfAnAddressIsShown(t *testing.T) {
	hub := jobs.Channel{Name: "hub", Type: jobs.ChannelWebhook, URLEnv: "URL"}
	for query, code := range map[string]string{
		"hushy": "bad_hushy", "hushy=": "bad_hushy", "key=a;hushy": "bad_hushy", "k=hus%68y": "bad_hushy", "hus%68y": "bad_hushy",
		"k=%zzhushy": "bad_zzhushy", "hushy7c9e66=true": "bad_hushy7c9e66",
	} {
		asked := ""
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.String()
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"code":%q}`, code)
		})
		c := call()
		c.Call.Target, c.Call.Path = hub.Target(), ""
		a := attempt(t, told(t, s.URL+"/hook/?"+query, hub), c, maxWait)
		if a.Kind != ledger.AnswerRefused || strings.Contains(fmt.Sprintf("%+v", a), "hush") {
			t.Errorf("%s: %+v", query, a)
		}
		if asked != "/hook/?"+query {
			t.Errorf("called %s, want /hook/?%s", asked, query)
		}
	}
}

// A channel has no allowHTTP, so no error advises it.
func TestTheAddressOfAChannelIsEncrypted(t *testing.T) {
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Channel{Name: "hub", Type: jobs.ChannelWebhook, URLEnv: "URL"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = targets.New(targets.Config{Registry: reg, Lookup: env{"URL": "http://hub.example/?key=hush"}.lookup})
	if err == nil || !strings.Contains(err.Error(), "use https") || strings.Contains(err.Error(), "allowHTTP") || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}

// A ping goes to the address as it is, or to a path below it, with the run as rid.
func TestWhereAHeartbeatIsPinged(t *testing.T) {
	var got []string
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.URL.String()) })
	j := jobs.Job{ID: "j", Schedule: "@daily", TargetURLEnv: "URL", Path: "/j", HeartbeatURLEnv: "URL"}
	ts := told(t, s.URL+"/ping/7c9e6679", j)
	for _, path := range []string{"", "?rid=1", "/fail?rid=1"} {
		c := call()
		c.Call.Target, c.Call.Path = j.HeartbeatTarget(), path
		if a := attempt(t, ts, c, maxWait); a.Kind != ledger.AnswerFresh {
			t.Fatalf("%q: %+v", path, a)
		}
	}
	c := call()
	c.Call.Target, c.Call.Path = "env:URL", "?rid=1"
	if a := attempt(t, ts, c, maxWait); a.Kind != ledger.AnswerRefused {
		t.Errorf("a job's path without a slash: %+v", a)
	}
	if want := []string{"/ping/7c9e6679", "/ping/7c9e6679?rid=1", "/ping/7c9e6679/fail?rid=1"}; !slices.Equal(got, want) {
		t.Errorf("pinged %q, want %q", got, want)
	}
	got = nil
	ts = told(t, s.URL+"/ping?key=1", jobs.Heartbeat{URLEnv: "URL"})
	for _, path := range []string{"", "?rid=1", "/fail?rid=1"} {
		c := call()
		c.Call.Target, c.Call.Path = jobs.HeartbeatTarget, path
		attempt(t, ts, c, maxWait)
	}
	if want := []string{"/ping?key=1", "/ping?key=1&rid=1", "/ping/fail?key=1&rid=1"}; !slices.Equal(got, want) {
		t.Errorf("pinged %q, want %q", got, want)
	}
}
