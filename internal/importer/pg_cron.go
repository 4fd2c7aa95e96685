package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cronce/cronce/schedule"
)

// pgJob is a job of pg_cron, as a row of cron.job has it.
type pgJob struct {
	Name     string `json:"jobname"`
	Schedule string `json:"schedule"`
	Command  string `json:"command"`
	Active   *bool  `json:"active"`

	file        string
	line        int
	conditional bool // the script schedules it only if a condition holds
	transaction int  // the number of its transaction in the files; 0: of its own
	problem     error
}

// pgCron reads rows of cron.job as JSON, and SQL that calls functions of pg_cron.
func (b *builder) pgCron(files []File) error {
	p := &pgScript{builder: b}
	for _, f := range files {
		if text := bytes.TrimSpace(f.Data); len(text) > 0 && (text[0] == '[' || text[0] == '{') {
			err := each([]File{f}, func(o object, j pgJob) error {
				j.file, j.line = o.file, o.line
				p.jobs = append(p.jobs, j)
				return nil
			})
			if err != nil {
				return err
			}
			continue
		}
		p.transaction = 0
		p.scan(f, sqlToken{text: string(f.Data)}, sqlFlow{first: true}, 0)
	}
	for _, j := range p.jobs {
		e := &entry{file: j.file, line: j.line, name: j.Name}
		e.note(TimeZone, "pg_cron runs in GMT unless cron.timezone is set, which the file does not say; the job has %s (--timezone sets "+
			"another)", b.options.Timezone)
		b.take(e, e.pgJob(j, b.options.Timezone))
	}
	return nil
}

// pgScript are the jobs that files leave in cron.job.
type pgScript struct {
	*builder
	jobs        []pgJob
	begun       int // the number of transactions so far
	transaction int // the number of the present one; 0: none
}

// scan reads SQL, and code within quotes: a DO block, the body of a function, and any text in dollar quotes.
func (p *pgScript) scan(f File, script sqlToken, at sqlFlow, depth int) {
	tokens := sqlTokens(script.text)
	for i := 0; i < len(tokens); i++ {
		if at.first && depth == 0 && !at.function {
			p.inTransaction(tokens[i:])
		}
		at.next(tokens[i])
		tokens[i].at += script.at
		if code := tokens[i].kind == sqlDollar || tokens[i].kind == sqlText && at.runsText(); code && depth < 3 {
			p.scan(f, tokens[i], at.within(), depth+1)
		} else if tokens[i].isText() && at.verb != "comment" && strings.Contains(tokens[i].text, "cron.schedule") {
			p.add(Difference{File: f.Name, Line: lineAt(f.Data, tokens[i].at), Aspect: NotImported,
				Text: "a text calls cron.schedule and is not read; check whether the script executes it"})
		}
		if i+2 >= len(tokens) || !tokens[i].named("cron") || !tokens[i+1].is(".") || tokens[i+2].kind != sqlName {
			continue
		}
		line := lineAt(f.Data, tokens[i].at)
		if tokens[i+2].named("job") { // the table; queries only read it
			if i > 0 && writesTable(tokens[:i]) {
				p.add(Difference{File: f.Name, Line: line, Aspect: NotImported, Text: "SQL that writes to cron.job is not applied; check its jobs"})
			}
			continue
		}
		args, rest, ok := sqlInner(tokens[i+3:])
		if !ok {
			p.refuse(&entry{file: f.Name, line: line}, errors.New("the call of pg_cron is not closed; nothing after it is read"))
			return
		}
		j := pgJob{file: f.Name, line: line, transaction: p.transaction, conditional: at.inCondition() || sqlWhere(rest)}
		if function := tokens[i+2].text; at.inFunction() {
			p.uncalled(function, args, j)
		} else {
			p.call(function, args, j)
		}
		i = len(tokens) - len(rest) - 1 // the arguments are no calls of their own
	}
}

// inTransaction takes a statement that perhaps begins or ends a transaction.
func (p *pgScript) inTransaction(statement []sqlToken) {
	switch first := statement[0]; {
	case first.named("begin"), first.named("start"):
		p.begun++
		p.transaction = p.begun
	case first.named("commit"), first.named("end"):
		p.transaction = 0
	case first.named("rollback"), first.named("abort"):
		for i := range p.jobs {
			if j := &p.jobs[i]; p.transaction > 0 && j.transaction == p.transaction {
				j.problem = errors.New("a ROLLBACK follows it in its transaction")
			}
		}
		if len(statement) < 2 || !statement[1].named("to") {
			p.transaction = 0
		}
	}
}

// uncalled reports a call in the body of a function. Whether the function was ever called, only the
// database knows.
func (p *pgScript) uncalled(function string, args []sqlToken, j pgJob) {
	const why = " is in the body of a function, which may never be called"
	switch function {
	case "schedule", "schedule_in_database":
		j.read(function, args)
		p.refuse(&entry{file: j.file, line: j.line, name: j.Name}, errors.New("cron."+function+why+"; if cron.job has the job, import that row as JSON"))
	case "unschedule", "alter_job":
		p.add(Difference{File: j.file, Line: j.line, Aspect: NotImported, Text: "cron." + function + why + ", and is not applied; check the job that it is for"})
	}
}

// read takes the job from the arguments of cron.schedule or cron.schedule_in_database.
func (j *pgJob) read(function string, args []sqlToken) {
	names := []string{"job_name", "schedule", "command", "database", "username", "active"}
	if function == "schedule" && len(sqlSplit(args, ",")) < 3 {
		names = []string{"schedule", "command"}
	}
	given := sqlArguments(args, names)
	j.Name = given.text("job_name", &j.problem)
	j.Schedule, j.Command = given.text("schedule", &j.problem), given.text("command", &j.problem)
	if active := sqlBare(given["active"]); len(active) > 0 {
		on := active[0].named("true") || active[0].text == "true"
		if !on && active[0].text != "false" {
			j.problem = errors.New("the argument active is not true or false")
		}
		j.Active = &on
	}
}

// call applies a function of pg_cron.
func (p *pgScript) call(function string, args []sqlToken, j pgJob) {
	place := Difference{File: j.file, Line: j.line}
	switch function {
	case "schedule", "schedule_in_database":
		j.read(function, args)
		p.drop(j.Name, "replaced by the job of the same name at "+place.Place())
		p.jobs = append(p.jobs, j)
	case "unschedule":
		if len(args) == 1 && args[0].isText() {
			p.drop(args[0].text, "removed by cron.unschedule at "+place.Place())
			return
		}
		fallthrough // the number is given by the database, and the files do not have it
	case "alter_job":
		place.Aspect, place.Text = NotImported, "cron."+function+" names a job by its number and is not applied; check the job that it is for"
		p.add(place)
	}
}

// drop removes the job with a name, which the database no longer has.
func (p *pgScript) drop(name, why string) {
	at := slices.IndexFunc(p.jobs, func(j pgJob) bool { return j.Name == name })
	if name == "" || at < 0 {
		return
	}
	p.refuse(&entry{file: p.jobs[at].file, line: p.jobs[at].line, name: name}, errors.New(why))
	p.jobs = slices.Delete(p.jobs, at, at+1)
}

// sqlArgs are the arguments of a call by their names.
type sqlArgs map[string][]sqlToken

// sqlArguments names the arguments of a call. One without a name is for the parameter at its place.
func sqlArguments(args []sqlToken, names []string) sqlArgs {
	given := sqlArgs{}
	for i, part := range sqlSplit(args, ",") {
		switch {
		case len(part) > 2 && part[0].kind == sqlName && (part[1].is(":=") || part[1].is("=>")):
			given[part[0].text] = part[2:]
		case i < len(names) && len(part) > 0:
			given[names[i]] = part
		}
	}
	return given
}

// text returns an argument that must be a constant, or "" for none.
func (a sqlArgs) text(name string, problem *error) string {
	if a[name] == nil {
		return ""
	}
	if t := sqlBare(a[name]); len(t) == 1 && t[0].isText() {
		return t[0].text
	}
	*problem = cmp.Or(*problem, fmt.Errorf("the argument %s is not a constant text; write the text", name))
	return ""
}

var everySeconds = regexp.MustCompile(`^([1-9]|[1-5][0-9]) seconds?$`)

// pgJob reads a job of pg_cron into the entry.
func (e *entry) pgJob(j pgJob, zone string) error {
	if j.problem != nil {
		return j.problem
	}
	e.job.timezone, e.job.overlap, e.job.catchUp = zone, "allow", "none"
	e.job.disabled = j.conditional || j.Active != nil && !*j.Active
	if j.conditional {
		e.note(Effects, "the source schedules it only under a condition (IF, CASE, LOOP, EXCEPTION, RETURN, \\if or WHERE), which is not evaluated; the "+
			"job is disabled; remove enabled: false if the condition holds")
	}
	if m := everySeconds.FindStringSubmatch(strings.TrimSpace(j.Schedule)); m != nil {
		e.job.schedule = "@every " + m[1] + "s"
		e.note(Times, "the period counts from 1970-01-01T00:00:00Z, not from the last run")
	} else {
		expression := strings.Join(strings.Fields(j.Schedule), " ")
		if !scheduleLike.MatchString(expression) { // an error would repeat what may be SQL
			return errors.New("the schedule is not one of pg_cron: five fields of names, numbers, ranges, and steps of * or a range, or such as " +
				"'30 seconds'")
		}
		var err error
		if e.job.schedule, _, err = cutSchedule(expression + " x"); err != nil {
			return err
		}
		e.job.schedule = strings.ReplaceAll(e.job.schedule, "$", "L") // the last day of a month
		if f := strings.Fields(e.job.schedule); len(f) == 5 && f[2][0] != '*' && f[4][0] != '*' {
			e.note(Times, "pg_cron runs on days that match either day field unless cron.match_dom_and_dow is on, which the file does not say; the "+
				"job runs on either")
		}
	}
	if _, err := schedule.Parse(e.job.schedule, zone, ""); err != nil {
		return err
	}
	if err := e.pgNet(j.Command); err != nil {
		return err
	}
	e.noRetries()
	e.noteOverlap()
	return nil
}

// writesTable reports whether the statement that these tokens begin writes to the table after
// them.
func writesTable(before []sqlToken) bool {
	last := before[len(before)-1]
	return last.named("update") || last.named("into") || last.named("truncate") || last.named("table") ||
		len(before) > 1 && before[len(before)-2].named("delete")
}
