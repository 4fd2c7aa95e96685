package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// storm is clients that make, change and delete the same few schedules at once, through the
// faulty network and at any scheduler. They repeat what is not answered.
type storm struct {
	servers []string // base URLs
	token   string
	last    atomic.Int64 // the number of the newest change
	http    http.Client

	mu    sync.Mutex
	tries []try
}

// The template has room for fewer schedules than the clients have keys.
const (
	stormTemplate = "keyed"
	stormClients  = 4
	stormKeys     = 8
	stormMax      = 6
	stormTimeout  = 2 * time.Second // of one request
)

// try is one request about one schedule.
type try struct {
	kind   tryKind
	key    string
	number int64 // of the change, which its content has; repetitions have the same
	said   content
	match  int64 // If-Match; 0: none

	sent, answered time.Time
	status         int    // 0: no answer
	effect         string // created, changed, unchanged or deleted; of an answer
	revision       int64  // of an answer
}

type tryKind int

const (
	tryRead tryKind = iota
	tryPut
	tryDelete
)

// content is what a client says of a schedule, or the ledger has.
type content struct {
	expr  string
	until time.Time
}

// taken reports whether the server answered that the schedule is as the try asks.
func (t try) taken() bool { return t.status == http.StatusOK || t.status == http.StatusCreated }

// refused reports whether the request changed nothing for sure.
func (t try) refused() bool { return t.status >= 400 && t.status < 500 }

// ordered reports whether changes of the key have generations: their numbers.
func ordered(key string) bool { return (key[len(key)-1]-'0')%2 == 0 }

func newStorm(servers []string, token string) *storm {
	return &storm{servers: servers, token: token, http: http.Client{Transport: &http.Transport{}, Timeout: stormTimeout}}
}

// begin starts the clients; end waits for them.
func (s *storm) begin(ctx context.Context, seed uint64) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
	for i := range stormClients {
		clients.Go(func() { s.client(ctx, rand.New(rand.NewPCG(seed, uint64(100+i)))) })
	}
	return func() {
		cancel()
		clients.Wait()
		s.http.CloseIdleConnections()
	}
}

func (s *storm) client(ctx context.Context, dice *rand.Rand) {
	for pause(ctx, time.Duration(dice.IntN(400))*time.Millisecond) {
		switch d := dice.IntN(10); {
		case d < 2:
			s.repeat(ctx, dice, s.draw(tryDelete, dice))
		case d < 5:
			s.edit(ctx, dice)
		case d < 6:
			s.bulk(ctx, dice)
		default:
			s.repeat(ctx, dice, s.draw(tryPut, dice))
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// draw returns a change of one of the keys.
func (s *storm) draw(kind tryKind, dice *rand.Rand) try {
	t := try{kind: kind, key: fmt.Sprintf("k%d", dice.IntN(stormKeys)), number: s.last.Add(1)}
	if kind != tryPut {
		return t
	}
	now := time.Now().UTC()
	switch dice.IntN(6) {
	case 0:
		t.said.expr = now.Add(time.Duration(dice.IntN(5)) * time.Second).Format("at(2006-01-02T15:04:05)")
	case 1:
		t.said = content{"* * * * * *", now.Truncate(time.Second).Add(time.Duration(3+dice.IntN(6)) * time.Second)}
	default:
		t.said.expr = [...]string{"* * * * * *", "*/2 * * * * *", "*/3 * * * * *"}[dice.IntN(3)]
	}
	return t
}

// repeat sends a change until it is answered, up to four times, and sometimes once more.
func (s *storm) repeat(ctx context.Context, dice *rand.Rand, t try) {
	for n := range 4 {
		if got := s.send(ctx, dice, t); (got.taken() || got.refused()) && (n > 0 || dice.IntN(8) > 0) {
			return
		}
		if !pause(ctx, time.Duration(dice.IntN(1000))*time.Millisecond) {
			return
		}
	}
}

// edit changes a schedule, or makes it anew, as it was read.
func (s *storm) edit(ctx context.Context, dice *rand.Rand) {
	t := s.draw(tryPut, dice)
	read := s.send(ctx, dice, try{kind: tryRead, key: t.key})
	if t.match = read.revision; t.match > 0 {
		s.repeat(ctx, dice, t)
	}
}

// send makes one request and notes it.
func (s *storm) send(ctx context.Context, dice *rand.Rand, t try) try {
	method, path, body := http.MethodGet, "/"+t.key, ""
	switch {
	case t.kind == tryPut:
		method, body = http.MethodPut, t.body(false)
	case t.kind == tryDelete && ordered(t.key):
		method, path = http.MethodDelete, fmt.Sprintf("/%s?generation=%d", t.key, t.number)
	case t.kind == tryDelete:
		method = http.MethodDelete
	}
	t.sent = time.Now()
	var text []byte
	t.status, text = s.ask(ctx, dice, method, path, body, t.match)
	t.answered = time.Now()
	if t.taken() {
		var answer struct {
			Result   string
			Revision int64
			Data     struct{ Number int64 }
		}
		if json.Unmarshal(text, &answer) != nil || answer.Revision == 0 { // it was cut short
			t.status = 0
		}
		t.effect, t.revision = answer.Result, answer.Revision
		if t.kind == tryRead {
			t.number = answer.Data.Number
		}
	}
	s.note(t)
	return t
}

func (s *storm) note(tries ...try) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries = append(s.tries, tries...)
}

// body is the change as JSON, with its key if it is a line of many.
func (t try) body(line bool) string {
	fields := map[string]any{}
	if line {
		fields["key"] = t.key
	}
	if ordered(t.key) {
		fields["generation"] = t.number
	}
	if t.kind == tryDelete {
		fields["delete"] = true
	} else {
		fields["schedule"], fields["data"] = t.said.expr, map[string]int64{"number": t.number}
	}
	if !t.said.until.IsZero() {
		fields["until"] = t.said.until
	}
	text, _ := json.Marshal(fields) // texts and numbers
	return string(text)
}

// bulk changes several schedules by one request, once.
func (s *storm) bulk(ctx context.Context, dice *rand.Rand) {
	tries, lines := make([]try, 3), ""
	for i := range tries {
		tries[i] = s.draw(tryKind(1+dice.IntN(5)/4), dice)
		tries[i].sent, lines = time.Now(), lines+tries[i].body(true)+"\n"
	}
	status, text := s.ask(ctx, dice, http.MethodPost, "", lines, 0)
	answers := json.NewDecoder(bytes.NewReader(text))
	for i := range tries {
		var line struct {
			Result   string
			Revision int64
			Error    *struct{ Code string }
		}
		t := &tries[i]
		t.answered = time.Now()
		if t.status = status; status != http.StatusOK {
			continue
		}
		if answers.Decode(&line) != nil || line.Error != nil && line.Error.Code == "ledger_unavailable" {
			t.status = 0
		} else if line.Error != nil {
			t.status = http.StatusConflict
		}
		t.effect, t.revision = line.Result, line.Revision
	}
	s.note(tries...)
}

// ask sends a request to some scheduler. No status: there was no whole answer.
func (s *storm) ask(ctx context.Context, dice *rand.Rand, method, path, body string, match int64) (status int, text []byte) {
	url := s.servers[dice.IntN(len(s.servers))] + "/v1/jobs/" + stormTemplate + "/schedules" + path
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err) // a URL of this file
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", map[string]string{http.MethodPost: "application/x-ndjson"}[method])
	if method == http.MethodPut {
		r.Header.Set("Content-Type", "application/json")
	}
	if match > 0 {
		r.Header.Set("If-Match", fmt.Sprintf("%q", fmt.Sprint(match)))
	}
	res, err := s.http.Do(r)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil && len(text) == 0 {
		return 0, nil
	}
	return res.StatusCode, text
}
