package schedules_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/idempotency/schedules"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// answers is a server without a network: each request gets the next answer.
type answers struct {
	t     *testing.T
	list  []answer
	asked []string // method, path, body
}

type answer struct {
	status int
	body   string
	err    error
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	a.asked = append(a.asked, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+string(body))
	next := a.list[0]
	if len(a.list) > 1 {
		a.list = a.list[1:]
	}
	if next.err != nil {
		return nil, next.err
	}
	w := httptest.NewRecorder()
	w.WriteHeader(next.status)
	_, _ = w.WriteString(next.body)
	return w.Result(), nil
}

func client(t *testing.T, list ...answer) (*schedules.Client, *answers) {
	t.Helper()
	a := &answers{t: t, list: list}
	c, err := schedules.New(schedules.Config{URL: "https://cronce.example.com/", Token: "cronce_x", HTTP: &http.Client{Transport: a}})
	if err != nil {
		t.Fatal(err)
	}
	return c, a
}

// After a 301, a client sends a GET: the answer would be the schedule of before the change.
func TestAChangeIsNotRedirected(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			http.Redirect(w, r, r.URL.Path, http.StatusMovedPermanently)
			return
		}
		_, _ = io.WriteString(w, `{"key":"acme","revision":1}`)
	}))
	defer s.Close()
	c, err := schedules.New(schedules.Config{URL: s.URL, HTTP: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Put(t.Context(), "reminder", schedules.Schedule{Key: "acme", Schedule: "@daily"}); err == nil {
		t.Errorf("a change that was not made: %+v", got)
	}
}

func TestAPutIsRepeatedUntilItIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := client(t, answer{err: errors.New("connection reset")}, answer{status: 503, body: `{"code":"ledger_unavailable","detail":"busy"}`},
			answer{status: 201, body: `{"key":"acme","result":"created","revision":1,"next":"2026-12-24T18:00:00Z"}`})
		at, zone := schedules.At(time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC))
		got, err := c.Put(t.Context(), "reminder", schedules.Schedule{Key: "acme", Schedule: at, Timezone: zone, Data: map[string]int{"order": 7}, Generation: 3})
		if err != nil || got.Result != "created" || got.Revision != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		want := `PUT /v1/jobs/reminder/schedules/acme Bearer cronce_x {"data":{"order":7},"generation":3,"schedule":"at(2026-12-24T18:00:00)","timezone":"UTC"}`
		if len(a.asked) != 3 || a.asked[0] != want || a.asked[2] != want {
			t.Errorf("asked %q, want three times %s", a.asked, want)
		}
	})
}

func TestARefusalIsNotRepeated(t *testing.T) {
	for code, want := range map[string]error{"later_generation": schedules.ErrLater, "too_many_schedules": schedules.ErrTooMany, "unknown_schedule": schedules.ErrUnknown} {
		c, a := client(t, answer{status: 409, body: `{"code":"` + code + `","detail":"why"}`})
		_, err := c.Put(t.Context(), "reminder", schedules.Schedule{Key: "acme", Schedule: "@daily"})
		if !errors.Is(err, want) || len(a.asked) != 1 {
			t.Errorf("%s: %v after %d requests", code, err, len(a.asked))
		}
	}
}

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := client(t, answer{status: 503, body: "no JSON"})
		began := time.Now()
		if err := c.Delete(t.Context(), "reminder", "acme", 4); err == nil || time.Since(began) > 30*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Get(ctx, "reminder", "acme"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the context's end", err)
		}
	})
}

func TestManyChangesHaveAResultEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := client(t,
			answer{status: 200, body: `{"line":1,"key":"a","result":"created","revision":1}` + "\n"}, // cut short
			answer{status: 200, body: `{"line":1,"key":"a","result":"unchanged","revision":1}` + "\n" + `{"line":2,"key":"b","error":{"code":"unknown_schedule","detail":"why"}}` + "\n"})
		got, err := c.PutMany(t.Context(), "reminder", []schedules.Change{
			{Schedule: schedules.Schedule{Key: "a", Schedule: "@daily"}}, {Schedule: schedules.Schedule{Key: "b"}, Delete: true},
		})
		if err != nil || len(got) != 2 || got[0].Result != "unchanged" || !errors.Is(got[1].Err, schedules.ErrUnknown) {
			t.Fatalf("%+v, %v", got, err)
		}
		lines := a.asked[1][strings.Index(a.asked[1], "{"):]
		if want := `{"key":"a","schedule":"@daily"}` + "\n" + `{"key":"b","delete":true}` + "\n"; lines != want {
			t.Errorf("sent %s\nwant %s", lines, want)
		}
	})
}

func TestAServersAddressIsRequired(t *testing.T) {
	for _, address := range []string{"", "cronce.example.com", "https://u:p@h", "https://h?x=1"} {
		if _, err := schedules.New(schedules.Config{URL: address}); err == nil {
			t.Errorf("%q was taken", address)
		}
	}
}

func ExampleClient_Put() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"result": "created", "next": "2026-12-25T06:00:00Z"})
	}))
	defer server.Close()
	client, err := schedules.New(schedules.Config{URL: server.URL, Token: "cronce_…"})
	if err != nil {
		panic(err)
	}
	stored, err := client.Put(context.Background(), "customer-report", schedules.Schedule{
		Key: "acme", Schedule: "0 7 * * *", Timezone: "Europe/Berlin", Data: map[string]string{"format": "pdf"},
		Generation: 12, // the version of the customer's row
	})
	if err != nil {
		panic(err)
	}
	println(stored.Next)
}
