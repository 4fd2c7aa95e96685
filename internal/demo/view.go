package demo

import (
	"context"
	"fmt"
)

// view shows the demo's progress: on a terminal one block that is redrawn,
// elsewhere a line now and then.
type view struct{ lines int }

func (d *demo) show(ctx context.Context, phase string) {
	t, err := d.count(ctx)
	if err != nil {
		return // the next look may succeed; the verdict must
	}
	f := d.faults
	if !d.Live {
		fmt.Fprintf(d.Out, "scheduled=%d effects=%d doubled=%d calls=%d lost-responses=%d resets=%d 503s=%d kills=%d (%s)\n",
			t.scheduled, t.effects, t.doubled, f.calls.Load(), f.dropped.Load(), f.resets.Load(), f.refused.Load(), d.scheduler.kills, phase)
		return
	}
	d.view.clear(d)
	lines := []string{
		"", "  " + phase, "",
		fmt.Sprintf("  scheduled %4d     calls            %4d", t.scheduled, f.calls.Load()),
		fmt.Sprintf("  effects   %4d     responses lost   %4d", t.effects, f.dropped.Load()),
		fmt.Sprintf("  doubled   %4d     resets           %4d", t.doubled, f.resets.Load()),
		fmt.Sprintf("  open      %4d     503s             %4d", t.open, f.refused.Load()),
		fmt.Sprintf("  replays   %4d     scheduler killed %4d", t.replayed, d.scheduler.kills),
	}
	for _, l := range lines {
		fmt.Fprintln(d.Out, l)
	}
	d.view.lines = len(lines)
}

// clear takes back what show drew.
func (v *view) clear(d *demo) {
	if v.lines > 0 {
		fmt.Fprintf(d.Out, "\x1b[%dA\x1b[J", v.lines)
		v.lines = 0
	}
}
