package conform_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// fake is a service that follows the protocol in memory, with at most one defect.
type fake struct {
	defect string

	mu      sync.Mutex
	effects []string
	keys    map[string]*record
	flying  map[string]chan struct{}
	long    map[string]*longWork
}

// longWork is work that goes on, or went on until its process died.
type longWork struct {
	payload string
	dead    bool
	until   time.Time // its end, or the end of a dead worker's lease
}

const (
	ttl      = time.Hour
	briefTTL = 100 * time.Millisecond
	wait     = 20 * time.Millisecond
)

func newFake(defect string) *fake {
	return &fake{defect: defect, keys: map[string]*record{}, flying: map[string]chan struct{}{}, long: map[string]*longWork{}}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /conform":
		fmt.Fprintf(w, `{"protocol":1,"crash":%t,"briefSeconds":%v,"long":%t}`, f.defect != "says that it cannot crash", briefTTL.Seconds(), f.defect != "says that it has no long work")
	case "GET /conform/effects":
		f.mu.Lock()
		defer f.mu.Unlock()
		n := 0
		for _, operation := range f.effects {
			if operation == r.URL.Query().Get("operation") {
				n++
			}
		}
		fmt.Fprintf(w, `{"count":%d}`, n)
	case "POST /conform/effects", "PUT /conform/effects", "POST /conform/brief", "POST /conform/long":
		f.operate(w, r)
	default:
		http.NotFound(w, r)
	}
}

func problem(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"code":%q}`, code)
}

// add commits an effect.
func (f *fake) add(operation string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.effects = append(f.effects, operation)
}

func (f *fake) operate(w http.ResponseWriter, r *http.Request) {
	switch {
	case f.defect == "has no PUT" && r.Method == http.MethodPut:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case f.defect == "has one media type" && r.Header.Get("Content-Type") != "application/json":
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	name, ok := f.name(w, r)
	if !ok {
		return
	}
	sendBefore, ok := f.sendBefore(w, r)
	if !ok {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if f.defect == "takes half a body" {
			f.work(w, r, name, string(body), sendBefore)
			return
		}
		problem(w, 400, "invalid_idempotency_request")
		return
	}
	if r.URL.Path == "/conform/long" {
		f.longCall(w, r, name, string(body))
		return
	}
	f.work(w, r, name, string(body), sendBefore)
}

// longCall starts long work, looks at it, or starts it again. The work ends when somebody looks.
func (f *fake) longCall(w http.ResponseWriter, r *http.Request, name, body string) {
	payload := f.fingerprint(r, body)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stored(w, f.keys[name], payload, false) {
		return
	}
	work := f.long[name]
	fault := r.Header.Get("Conform-Fault")
	lapsed := work != nil && work.dead && time.Now().After(work.until) && f.defect != "leaves long work to the dead"
	if work == nil || lapsed || f.defect == "starts long work again and again" {
		work = &longWork{payload, fault == "crash", time.Now().Add(50 * time.Millisecond)}
		f.long[name] = work
		if f.defect == "starts long work again and again" || f.defect == "commits long work at its start" {
			f.effects = append(f.effects, operation(body))
		}
		if work.dead {
			panic(http.ErrAbortHandler)
		}
	}
	if work.payload != payload && f.defect != "takes another payload for long work" {
		problem(w, 409, "idempotency_key_payload_mismatch")
		return
	}
	if work.dead || time.Now().Before(work.until) || f.defect == "starts long work again and again" && len(f.effects) < 3 {
		if f.defect != "says not when to poll" {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(202)
		return
	}
	f.effects = append(f.effects, operation(body))
	f.keys[name] = f.record(r, payload, operation(body), 201)
	f.stored(w, f.keys[name], payload, false)
}

// name is the key with its scope and principal.
func (f *fake) name(w http.ResponseWriter, r *http.Request) (string, bool) {
	keys := r.Header.Values("Idempotency-Key")
	principal := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	scope := r.URL.Path
	switch {
	case len(keys) == 0 && f.defect != "takes calls without a key":
		problem(w, 400, "missing_idempotency_key")
		return "", false
	case len(keys) == 0:
		keys = []string{rand.Text()}
	case (len(keys) > 1 || !valid(keys[0])) && f.defect != "takes any key":
		problem(w, 400, "invalid_idempotency_key")
		return "", false
	case principal == "" && f.defect != "takes anybody":
		problem(w, 401, "unidentified_caller")
		return "", false
	}
	if principal == "" || f.defect == "knows one caller" {
		principal = "all"
	}
	if f.defect == "knows one operation" {
		scope = "all"
	}
	key := keys[0]
	if f.defect != "keeps the quotes" {
		key = strings.Trim(key, `"`)
	}
	switch f.defect {
	case "folds the case of keys":
		key = strings.ToLower(key)
	case "cuts keys to 64 characters":
		key = key[:min(64, len(key))]
	}
	return scope + " " + principal + " " + key, true
}

func valid(key string) bool {
	if text, quoted := strings.CutPrefix(key, `"`); quoted {
		key, quoted = strings.CutSuffix(text, `"`)
		if !quoted || strings.Contains(key, `"`) {
			return false
		}
	}
	return key != "" && len(key) <= 128 && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

func operation(body string) string {
	var asked struct{ Operation string }
	_ = json.Unmarshal([]byte(body), &asked)
	return asked.Operation
}

func (f *fake) work(w http.ResponseWriter, r *http.Request, name, body string, sendBefore time.Time) {
	payload := f.fingerprint(r, body)
	release, ok := f.take(w, name, payload, sendBefore)
	if !ok {
		return
	}
	asked := struct {
		Operation string
		Answer    int
	}{Answer: 201}
	_ = json.Unmarshal([]byte(body), &asked)
	if f.defect == "commits the effect before the key" {
		f.add(asked.Operation)
	}
	if fault := r.Header.Get("Conform-Fault"); !f.fault(fault, r, asked.Operation) {
		if f.defect != "keeps the key of the dead" {
			release()
		}
		panic(http.ErrAbortHandler)
	}
	defer release()
	rec := f.record(r, payload, asked.Operation, asked.Answer)
	f.finish(rec, name, asked.Operation)
	for name, values := range rec.header {
		w.Header()[name] = values
	}
	if f.defect == "marks every answer" {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(rec.status)
	_, _ = io.WriteString(w, rec.body)
}

// fault is what happens in the middle of the work; false: nothing of it stands.
func (f *fake) fault(fault string, r *http.Request, operation string) bool {
	if fault == "crash" {
		return false
	}
	var ms int
	if _, err := fmt.Sscanf(fault, "hold=%d", &ms); err != nil {
		return true
	}
	hangsUp := r.Context().Done()
	if f.defect != "stops with its caller" {
		hangsUp = nil
	}
	select {
	case <-hangsUp:
		f.add(operation) // it is done, and its key is not stored
		return false
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return true
	}
}
