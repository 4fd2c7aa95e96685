package simulate

import (
	"context"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

// network carries a process's calls to the targets. What has left the process
// arrives whether or not the process runs, waits or has given up.
type network process

// passage is what befalls one call on its way.
type passage struct {
	unsent, cut, mute, twice bool
	dial, out, back, again   time.Duration // again: how much later the double arrives
	knows                    time.Duration // of the clocks' jumps, when the call was handed over
}

func (n *network) passage(c executor.Call) passage {
	p := (*process)(n)
	r, now := p.w.Dice(p.id+c.RunID, p.next(c.RunID)), p.w.faultRates
	way := passage{dial: moment(r), out: between(r, 0, 20*time.Millisecond), back: between(r, 0, 20*time.Millisecond)}
	if p.w.isCalm() {
		return way
	}
	way.unsent, way.cut, way.mute = chance(r, now.unsent), chance(r, now.cut), chance(r, now.mute)
	way.twice, way.again = chance(r, now.twice), moment(r)
	if chance(r, now.late) {
		way.out = between(r, time.Second, pick(r, 5*time.Second, time.Minute, 30*time.Minute))
	}
	if chance(r, now.late) {
		way.back = between(r, time.Second, 40*time.Second)
	}
	return way
}

// Call sends a call, perhaps, and waits for its answer, perhaps in vain.
func (n *network) Call(ctx context.Context, c executor.Call) executor.Answer {
	p := (*process)(n)
	way := n.passage(c)
	way.knows = p.knows()
	p.wait(ctx, way.dial)
	p.thaw(c.RunID)
	switch {
	case p.isDead():
		return executor.Answer{Kind: ledger.AnswerUnknown, Error: "killed"}
	case c.PastSendUntil(time.Now()):
		return executor.Answer{Unsent: true} // the last look, when all is ready to be sent
	case way.unsent:
		return executor.Answer{Unsent: true, RetryAfter: time.Second}
	case way.cut:
		p.w.note(func(t *Tally) { t.LostCalls++ })
		return executor.Answer{Kind: ledger.AnswerFailed, Error: "connection refused"}
	}
	if n.w.options.Careless && chance(n.w.Dice("careless"+c.RunID, c.Attempt), 0.02) {
		n.w.tasks.Go(func() {
			time.Sleep(time.Until(c.SendUntil) + time.Minute)
			<-n.carry(c, way)
		})
		return executor.Answer{Kind: ledger.AnswerUnknown, Error: "timeout"}
	}
	if way.twice {
		p.w.note(func(t *Tally) { t.Doubles++ })
		double := way
		double.out += way.again
		n.carry(c, double)
	}
	answer := n.carry(c, way)
	select {
	case a := <-answer:
		if way.mute {
			p.w.note(func(t *Tally) { t.LostCalls++ })
			return executor.Answer{Kind: ledger.AnswerUnknown, Error: "connection reset"}
		}
		return a
	case <-ctx.Done():
		p.w.note(func(t *Tally) { t.LateCalls++ })
	case <-p.gone:
	}
	return executor.Answer{Kind: ledger.AnswerUnknown, Error: "timeout"}
}

// carry takes a call to its target, and the answer back.
func (n *network) carry(c executor.Call, way passage) <-chan executor.Answer {
	answer := make(chan executor.Answer, 1)
	// The ledger's clock, but for the jumps of which the process had not heard when
	// it fixed the time until which the call may be sent.
	t, sent := n.w.target(c.Work.Call.Target), time.Now().Add(way.knows).Round(0).UTC()
	n.w.tasks.Go(func() {
		time.Sleep(way.out)
		a := t.serve(c, sent)
		time.Sleep(way.back)
		answer <- a
	})
	return answer
}
