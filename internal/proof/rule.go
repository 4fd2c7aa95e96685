package proof

// Rule names what is checked.
type Rule string

const (
	Lost       Rule = "a scheduled time has no row"
	Doubled    Rule = "a scheduled time has two rows"
	Stray      Rule = "a row belongs to no scheduled time"
	Miscounted Rule = "a range row counts other scheduled times than its own"
	NoEffect   Rule = "a succeeded run has no effect"
	TwoEffects Rule = "a run has two effects"
	NoRun      Rule = "an effect has no run"
	Unplanned  Rule = "an effect of a run that was never to be called"
	Early      Rule = "an effect before its scheduled time"
	Late       Rule = "work begun after the run's sendBefore"
	Changed    Rule = "two calls of a run differ"
	Stuck      Rule = "a run does not end"
	Unfenced   Rule = "an outcome was recorded by a process that did not hold the lease"
	Overlapped Rule = "two runs of a job had its slot"
	Unsettled  Rule = "a declared job has no revision"
	Dropped    Rule = "a job was ended by a process that declares it"
	Gap        Rule = "a job that was always declared had no revision for a while"
	SentLate   Rule = "a call was sent after its run's sendBefore"
	Slow       Rule = "a run took longer than its horizon and a lease"
	Forgotten  Rule = "an attempt is not in its run's history"
	Tireless   Rule = "a run was retried more often than its retries allow"
	Unfounded  Rule = "a run is dead without a cause"
	Wasted     Rule = "a run met no fault and did not succeed"
	Purged     Rule = "a row was purged before its time"
	Unheeded   Rule = "an event was acknowledged, and has no effect"
	Paused     Rule = "a run started during a pause, or was skipped without one"
	Held       Rule = "a call of a held target was leased"
	Crowded    Rule = "more backfilled runs of a job ran at a time than their pace allows"
	CatchUp    Rule = "a late scheduled time was not handled as the job's catchUp says"
	Unasked    Rule = "a scheduled time was skipped without an overlap"
	Hasty      Rule = "a retry came before its wait was over"
	Busy       Rule = "a run of a busy target or job was leased"
	Passed     Rule = "a claim with room left due runs unleased"
	Unopened   Rule = "a problem is in no incident"
	Unclosed   Rule = "an incident is open after its job's success"
	Twofold    Rule = "a job has two open incidents of one cause"
	Baseless   Rule = "an incident or a notification has no cause"
	Untold     Rule = "a channel was not told"
	Misled     Rule = "a channel was told out of turn"
	Echoed     Rule = "a channel was told of its own failures"
	Partial    Rule = "a parent succeeded, and a member of its list did not"
	Deserted   Rule = "a parent is dead of its members, and one of them has not ended"
	Torn       Rule = "a frozen list is not one that the target served"
	Uncounted  Rule = "the counts of a parent's members are not those of their runs"
)

// Rules are all of them.
var Rules = []Rule{
	Lost, Doubled, Stray, Miscounted, NoEffect, TwoEffects, NoRun, Unplanned, Early, Late, Changed, Stuck,
	Unfenced, Overlapped, Unsettled, Dropped, Gap, SentLate, Slow, Forgotten, Tireless, Unfounded, Wasted, Purged,
	Unheeded, Paused, Held, Crowded, CatchUp, Unasked, Hasty, Busy, Passed,
	Unopened, Unclosed, Twofold, Baseless, Untold, Misled, Echoed, Partial, Deserted, Torn, Uncounted,
}
