package operations

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/ledger"
)

// ActionRequest is the body of an action's request. It has the fields of all actions; Action.Fields says which of them
// an action takes. But for Limit, a field that is absent and one that is empty mean the same.
type ActionRequest struct {
	By     string `json:"by,omitempty"` // refused if another identity is proven
	Why    string `json:"why"`
	DryRun bool   `json:"dryRun,omitempty"`
	// From and To are the span of a backfill; a pause lasts from From until Until.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Parallel, NewestFirst and NeverPlanned mean what they mean in a Backfill.
	Parallel     int  `json:"parallel,omitempty"`
	NewestFirst  bool `json:"newestFirst,omitempty"`
	NeverPlanned bool `json:"neverPlanned,omitempty"`
	// The fields from RunIDs to Series select runs: by their IDs, or by a filter. A pause selects jobs by the Selection alone.
	RunIDs []string `json:"runIds,omitempty"`
	Parent string   `json:"parent,omitempty"` // selects its members
	Member []string `json:"member,omitempty"` // selects those of the Parent by their keys
	Selection
	State  []ledger.State `json:"state,omitempty"`
	Reason ledger.Reason  `json:"reason,omitempty"`
	Since  time.Time      `json:"since,omitzero"`
	Until  time.Time      `json:"until,omitzero"`
	Limit  *int           `json:"limit,omitempty"`
	Series string         `json:"series,omitempty"` // joins requests into one action in the audit
	// The next four allow what is refused without them.
	IncludeAcknowledged bool             `json:"includeAcknowledged,omitempty"`
	Force               bool             `json:"force,omitempty"`     // redrive beside an unfinished run of the job
	MayDouble           bool             `json:"mayDouble,omitempty"` // the effect may be made twice
	NewKey              bool             `json:"newKey,omitempty"`    // a rerun is new work for its target
	Close               bool             `json:"close,omitempty"`     // an incident
	Kind                ledger.PauseKind `json:"kind,omitempty"`      // of a pause
	All                 bool             `json:"all,omitempty"`       // a pause of all jobs

	ID    string       `json:"-"` // of the job, run, incident or pause in the path
	actor ledger.Actor // who asks
}

// Caller is who makes a request, through which interface, and under which idempotency key ("": none).
type Caller struct {
	access.Identity
	Via ledger.Via
	Key string
}

// actor returns who makes a request, for the audit: the proven identity, or, where none is proven, the
// name that the request gives (by).
func (c Caller) actor(name, why string) (ledger.Actor, error) {
	who := ledger.Actor{By: cmp.Or(c.Name, name), Proven: c.Name != "", Why: why, Via: c.Via}
	switch {
	case who.By == "":
		return who, refuse(Invalid, "this address authenticates nobody; give the name of the person or program that acts (by)")
	case who.Proven && name != "" && name != c.Name:
		return who, refuse(Forbidden, "this request is made by %q; leave out by, or name it", c.Name)
	}
	return who, nil
}

// Answer is the answer to a request: JSON.
type Answer struct {
	Body []byte
	// Replayed reports that the request was made before: this is its answer.
	Replayed bool
}

// Do does what a caller asks for, once for each of the caller's keys: a repetition gets the first answer. Without a key
// it is done each time. Its error is an Error if nothing was done. The audit entry, the answer under the key and the
// effect in the ledger are one transaction.
func (s *Service) Do(ctx context.Context, a Action, ask ActionRequest, by Caller) (Answer, error) {
	if err := a.Permits(by.Identity, ask); err != nil {
		return Answer{}, err
	}
	var err error
	if ask.actor, err = by.actor(ask.By, ask.Why); err != nil {
		return Answer{}, err
	}
	if len(ask.Series) > 100 || !plaintext.Is(ask.Series) {
		return Answer{}, refuse(Invalid, "series must be one line of at most 100 bytes, such as a UUID")
	}
	r := &ledger.Request{Principal: by.Principal(), Key: by.Key, Fingerprint: fingerprint(a.Path, ask.ID, ask), Series: ask.Series}
	if !ask.DryRun {
		ask.actor.Request = r
	}
	v, err := a.do(s, ctx, ask)
	if err == nil {
		s.logAction(a, ask, v)
		body, err := Encode(v)
		return Answer{Body: body}, err
	}
	if ask.DryRun || by.Key == "" || errors.Is(err, ledger.ErrUnavailable) {
		return Answer{}, err
	}
	// A repetition may also fail for what its first request did: a run that was canceled cannot be
	// canceled. If the audit has the key, this is a repetition, and gets the first answer.
	answer, found, missed := s.ledger.FindAnswer(ctx, *r)
	switch {
	case errors.Is(missed, ledger.ErrOtherRequest):
		return Answer{}, refuse(KeyMismatch, "this key belongs to a request with another path or body; repeat that request, or use a new key")
	case missed != nil:
		return Answer{}, missed
	case found:
		return Answer{answer, true}, nil
	}
	return Answer{}, err
}

// DoAction does an action for the command line, without a key, and reads the answer into a value, as
// the client of a server does.
func (s *Service) DoAction(ctx context.Context, action, id string, ask ActionRequest, answer any) error {
	a, known := ActionOf(action)
	if !known {
		return unknownName("action", action, actionNames()...)
	}
	ask.ID = id
	got, err := s.Do(ctx, a, ask, Caller{Identity: access.Identity{Role: access.Admin}, Via: ledger.ViaCLI})
	if err != nil {
		return err
	}
	return json.Unmarshal(got.Body, answer)
}

// logAction writes a line about an action that was done. Its texts are on one line.
func (s *Service) logAction(a Action, ask ActionRequest, result any) {
	if ask.DryRun {
		return
	}
	facts := []any{"action", a.Name, "by", plaintext.Line(ask.actor.By), "why", plaintext.Line(ask.Why), "via", string(ask.actor.Via)}
	for _, f := range [][2]string{{"on", cmp.Or(ask.ID, strings.Join(ask.RunIDs, " "))}, {"parent", ask.Parent},
		{"member", strings.Join(ask.Member, " ")}, {"selection", ask.Words()}} {
		if f[1] != "" {
			facts = append(facts, f[0], plaintext.Line(f[1]))
		}
	}
	if done, many := result.(RunActionResult); many {
		facts = append(facts, "changed", done.Counts.Changed, "refused", len(done.Refused))
	}
	s.log.Info("operator action", facts...)
}

// fingerprint returns a hash of what is asked. Under one key, a request with another fingerprint is refused.
func fingerprint(parts ...any) string {
	text, _ := json.Marshal(parts) // texts, numbers, times and booleans
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Encode returns a value as JSON that is safe to print. People, targets and callers wrote some of its texts, and
// control characters in these could change what a terminal shows, so they are escaped.
func Encode(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return plaintext.JSON(text), err
}

// keep has the ledger store the answer to a request in the transaction of the action, so that a repetition gets the
// same bytes. view makes the answer of what the ledger returns. Without a key nothing is stored.
func keep[T any](who ledger.Actor, view func(T) (any, error)) {
	if who.Request != nil {
		who.Request.EncodeAnswer = func(result any) ([]byte, error) {
			got, _ := result.(T) // a pause has no result
			v, err := view(got)
			if err != nil {
				return nil, err
			}
			return Encode(v)
		}
	}
}

// doTrigger and the functions after it do the actions of Actions: each reads its fields of the request, and calls the
// method that has the rules.
func (s *Service) doTrigger(ctx context.Context, a ActionRequest) (any, error) {
	e, err := s.TriggerEntry(ctx, a.ID, a.actor)
	if err != nil {
		return nil, err
	}
	return s.Enter(ctx, e)
}

func (s *Service) doRerun(ctx context.Context, a ActionRequest) (any, error) {
	e, err := s.RerunEntry(ctx, a.ID, a, a.actor)
	if err != nil {
		return nil, err
	}
	return s.Enter(ctx, e)
}

func (s *Service) doBackfill(ctx context.Context, a ActionRequest) (any, error) {
	if a.From.IsZero() {
		return nil, refuse(Invalid, "a backfill needs its first time (from)")
	}
	b := Backfill{JobID: a.ID, From: a.From, To: a.To, Parallel: a.Parallel, NewestFirst: a.NewestFirst, NeverPlanned: a.NeverPlanned,
		Actor: a.actor, DryRun: a.DryRun}
	if b.To.IsZero() {
		b.To = s.now()
	}
	return s.Backfill(ctx, b)
}

func (s *Service) doIncident(ctx context.Context, a ActionRequest) (any, error) {
	id, err := ParseID("incident", a.ID)
	if err != nil {
		return nil, err
	}
	return s.AckIncident(ctx, ledger.IncidentAction{ID: id, Close: a.Close, Actor: a.actor})
}

// ParseID reads the ID of an incident or a pause.
func ParseID(kind, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, refuse(Invalid, `invalid %s %q; an ID must be an integer of at least 1, as "cronce %[1]ss list" shows it`, kind, text)
	}
	return id, nil
}

// doRuns does an action on the runs that a request selects, or on the run in its path.
func (s *Service) doRuns(ctx context.Context, what RunAction, a ActionRequest) (any, error) {
	action := ledger.Action{
		Actor: a.actor, Force: a.Force, IncludeAcknowledged: a.IncludeAcknowledged, MayDouble: a.MayDouble, DryRun: a.DryRun,
		Filter: ledger.Filter{IDs: a.RunIDs, States: a.State, Reason: a.Reason, Since: a.Since, Until: a.Until, Limit: MaxPart},
	}
	if a.ID != "" {
		action.IDs = []string{a.ID}
	}
	if a.Limit != nil {
		action.Limit = *a.Limit
	}
	if err := s.selectMembers(ctx, &action.Filter, a); err != nil {
		return nil, err
	}
	// The audit joins the requests of a series into one action. A client may send one series for two
	// selections, which are two actions.
	if r := a.actor.Request; r != nil && r.Series != "" {
		selection := action.Filter
		selection.IDs, selection.Limit = nil, 0
		r.Series += "/" + fingerprint(what, a.Selection, selection)[:16]
	}
	if err := checkRunAction(action); err != nil {
		return nil, err
	}
	done, err := s.ActOnRuns(ctx, what, a.Selection, action)
	if err == nil && a.ID != "" && len(done.Refused) == 1 && done.Refused[0].Cause == ledger.RejectedNotFound {
		return nil, refuse(UnknownRun, "%s", done.Refused[0].Why)
	}
	return done, err
}

// checkRunAction refuses values that no run can match, which would otherwise look like an action that found nothing.
func checkRunAction(action ledger.Action) error {
	switch {
	case len(action.IDs) > MaxPart:
		return refuse(Invalid, "runIds takes up to %d run IDs at once", MaxPart)
	case action.Limit < 1 || action.Limit > MaxPart:
		return refuse(Invalid, "limit must be from 1 to %d; while the answer has more than 0 remaining, repeat the request with a new key",
			MaxPart)
	case action.Reason != "" && !slices.Contains(ledger.Reasons, action.Reason):
		return unknownName("reason", action.Reason, ledger.Reasons...)
	}
	for _, id := range action.IDs {
		if id == "" || len(id) > 300 || !plaintext.Is(id) {
			return refuse(Invalid, "invalid run ID %.40q in runIds; a run ID has 1 to 300 printable bytes, as \"cronce runs list\" shows it", id)
		}
	}
	for _, st := range action.States {
		if !slices.Contains(ledger.States, st) {
			return unknownName("state", st, ledger.States...)
		}
	}
	return nil
}
