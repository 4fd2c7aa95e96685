package postgres

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/idempotency/store"
)

// scanLook reads the row of a look-up. reclaim: there is one, and it has expired.
func scanLook(row pgx.Row) (look store.KeyStatus, reclaim bool, err error) {
	var r store.Record
	var status *int
	var header []byte
	var expires *time.Time
	var expired, lapsed *bool // null: at no time
	err = row.Scan(&r.State, &r.Fingerprint, &r.Owner, &status, &header, &r.Body, &expires, &expired, &lapsed)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return look, false, nil
	case err != nil:
		return look, false, err
	case expired != nil && *expired:
		return look, true, nil
	}
	r.Omitted = r.State == store.StateOmitted
	if status != nil {
		r.Status = *status
	}
	if expires != nil {
		r.ExpiresAt = expires.UTC()
	}
	if header != nil {
		err = json.Unmarshal(header, &r.Header)
	}
	return store.KeyStatus{Record: &r, LeaseExpired: lapsed != nil && *lapsed}, false, err
}

// reply is a reply as it is stored.
type reply struct {
	state  store.State
	status *int
	header *string // not bytes, which without a described statement are no JSON
	body   []byte
}

func columns(r store.Reply) (reply, error) {
	c := reply{state: store.StateDone, body: r.Body}
	if r.Omitted {
		c.state = store.StateOmitted
	}
	if status := r.Status; status != 0 {
		c.status = &status
	}
	if len(r.Header) > 0 {
		text, err := json.Marshal(r.Header)
		if err != nil {
			return c, err
		}
		header := string(text)
		c.header = &header
	}
	return c, nil
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
