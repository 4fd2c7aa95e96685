package conform_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// record is a stored key.
type record struct {
	payload string
	status  int
	header  http.Header
	body    string
	expires time.Time
}

func (f *fake) sendBefore(w http.ResponseWriter, r *http.Request) (at time.Time, ok bool) {
	values := r.Header.Values("Cronce-Send-Before")
	if len(values) == 0 {
		return at, true
	}
	at, err := time.Parse(time.RFC3339, values[0])
	if (err != nil || len(values) > 1) && f.defect != "takes any time" {
		problem(w, 400, "invalid_idempotency_request")
		return at, false
	}
	return at, true
}

// fingerprint is what makes two requests the same.
func (f *fake) fingerprint(r *http.Request, body string) string {
	method, query, mediaType := r.Method, r.URL.RawQuery, r.Header.Get("Content-Type")
	if f.defect != "compares media types as text" {
		mediaType = strings.TrimSuffix(mediaType, "; charset=UTF-8")
	}
	switch f.defect {
	case "fingerprints the body alone":
		method, query, mediaType = "", "", ""
	case "fingerprints without the method":
		method = ""
	case "fingerprints without the query":
		query = ""
	case "fingerprints without the media type":
		mediaType = ""
	}
	if f.defect != "compares bytes" {
		body = canonical(body)
	}
	return strings.Join([]string{method, query, mediaType, body}, "\n")
}

func canonical(body string) string {
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return body
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// stored answers from a record. false: there is none.
func (f *fake) stored(w http.ResponseWriter, rec *record, payload string, late bool) bool {
	if rec == nil || time.Now().After(rec.expires) && f.defect != "never forgets" {
		return false
	}
	if rec.payload != payload && f.defect != "takes another payload" {
		code := "idempotency_key_payload_mismatch"
		if f.defect == "gives a mismatch no code" {
			code = ""
		}
		if f.defect == "works for a mismatch" {
			f.effects = append(f.effects, operation(payload[strings.LastIndex(payload, "\n"):]))
		}
		problem(w, 409, code)
		return true
	}
	switch {
	case late && f.defect == "refuses late callers of done work":
		problem(w, 412, "run_too_late")
		return true
	case f.defect == "answers repetitions with 409 for good":
		problem(w, 409, "idempotency_key_in_progress")
		return true
	}
	for name, values := range rec.header {
		if (name != "Set-Cookie" || f.defect == "replays cookies") && (name != "Location" || f.defect != "forgets the Location") {
			w.Header()[name] = values
		}
	}
	if f.defect == "tells a new expiry each time" {
		w.Header().Set("Idempotency-Key-Expires", time.Now().Add(ttl).Format(time.RFC3339Nano))
	}
	if f.defect != "does not mark replays" {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(rec.status)
	if f.defect == "renders replays anew" {
		rec = &record{body: `{"effect":"` + rand.Text() + `"}`}
	}
	_, _ = io.WriteString(w, rec.body)
	return true
}

// take takes the key, or answers. It waits for another call that has it.
func (f *fake) take(w http.ResponseWriter, name, payload string, sendBefore time.Time) (release func(), ok bool) {
	late := !sendBefore.IsZero() && time.Now().After(sendBefore)
	until := time.After(wait)
	for {
		f.mu.Lock()
		rec := f.keys[name]
		if f.defect == "has no keys" {
			rec = nil
		}
		if f.stored(w, rec, payload, late) {
			f.mu.Unlock()
			return nil, false
		}
		flight := f.flying[name]
		if flight == nil || f.defect == "checks, then acts" {
			done := make(chan struct{})
			f.flying[name] = done
			f.mu.Unlock()
			release = func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				if f.flying[name] == done {
					delete(f.flying, name)
				}
				close(done)
			}
			if late && f.defect != "ignores the send-before time" {
				release()
				problem(w, 412, "run_too_late")
				return nil, false
			}
			return release, true
		}
		f.mu.Unlock()
		if f.defect == "makes duplicates wait for ever" {
			until = nil
		}
		select {
		case <-flight:
		case <-until:
			switch f.defect {
			case "breaks in flight":
				problem(w, 500, "broken")
			case "is in conflict in flight":
				w.Header().Set("Retry-After", "1")
				problem(w, 409, "duplicate")
			case "is busy in flight": // which the rules allow
				w.Header().Set("Retry-After", "1")
				problem(w, 503, "busy")
			case "says not when to come back":
				problem(w, 409, "idempotency_key_in_progress")
			default:
				w.Header().Set("Retry-After", "1")
				problem(w, 409, "idempotency_key_in_progress")
			}
			return nil, false
		}
	}
}

func (f *fake) record(r *http.Request, payload, operation string, status int) *record {
	life := ttl
	if f.defect == "tells that keys live two seconds" {
		life = 2 * time.Second
	}
	if r.URL.Path == "/conform/brief" {
		life = briefTTL
		if f.defect == "forgets at once" {
			life = -1
		}
	}
	rec := &record{payload: payload, status: status, header: http.Header{}, expires: time.Now().Add(life)}
	rec.header.Set("Content-Type", "application/json")
	rec.header.Set("Location", "/conform/effects?operation="+operation)
	rec.header.Set("Set-Cookie", "conform="+rand.Text())
	if f.defect != "tells no expiry" && f.defect != "forgets after two seconds without a word" {
		rec.header.Set("Idempotency-Key-Expires", rec.expires.Format(time.RFC3339Nano))
	}
	if strings.HasPrefix(f.defect, "forgets after two seconds") {
		rec.expires = time.Now().Add(2 * time.Second)
	}
	rec.body = fmt.Sprintf(`{"operation":%q,"effect":%q}`, operation, rand.Text())
	return rec
}

// finish commits the effect and the key together, by the status.
func (f *fake) finish(rec *record, name, operation string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	final := rec.status < 400 || rec.status == 422
	if rec.status < 400 && f.defect != "commits the effect before the key" ||
		rec.status == 422 && f.defect == "keeps the effect of a refusal" ||
		rec.status == 503 && f.defect == "keeps the effect of a failure" {
		f.effects = append(f.effects, operation)
	}
	if final && (rec.status != 422 || f.defect != "forgets refusals") || f.defect == "stores failures" ||
		rec.status == 409 && f.defect == "stores a 409 of its own" {
		f.keys[name] = rec
	}
}
