package importer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/importer"
)

func importCrontab(t *testing.T, o importer.Options, lines ...string) (importer.Result, error) {
	t.Helper()
	o.Name = "acme"
	return importer.Import(importer.Crontab, []importer.File{{Name: "crontab", Data: []byte(strings.Join(lines, "\n") + "\n")}}, o)
}

// What flock(1) does to two runs of one line.
func TestFlockBecomesAnOverlapPolicy(t *testing.T) {
	for options, want := range map[string]struct{ overlap, note string }{
		"":                      {"queue", ""},
		"-n":                    {"skip", ""},
		"--nonblock":            {"skip", ""},
		"--nb":                  {"skip", ""},
		"-xn":                   {"skip", ""},
		"-nE 0":                 {"skip", ""},
		"-w 0":                  {"skip", ""},
		"-w0":                   {"skip", ""},
		"--timeout 0":           {"skip", ""},
		"--timeout=0":           {"skip", ""},
		"--wait 0.0":            {"skip", ""},
		"-w 60":                 {"queue", "gives up after 60 seconds"},
		"-w60":                  {"queue", "gives up after 60 seconds"},
		"--wait=1.5":            {"queue", "gives up after 1.5 seconds"},
		"--timeout 60 -E 1":     {"queue", "gives up after 60 seconds"},
		"-E 9 -w 60 -o":         {"queue", "gives up after 60 seconds"},
		"-s":                    {"allow", "--shared lets runs overlap"},
		"-sn":                   {"allow", "--shared lets runs overlap"},
		"--shared -w 5":         {"allow", "--shared lets runs overlap"},
		"-s -x":                 {"queue", ""},
		"-F --verbose":          {"queue", ""},
		"-x --fcntl --no-fork ": {"queue", ""},
	} {
		for _, command := range []string{" /tmp/l curl https://x.example.com/a", " /tmp/l -c 'curl https://x.example.com/a'", " /tmp/l sh -c 'curl https://x.example.com/a'"} {
			r, err := importCrontab(t, importer.Options{}, "0 3 * * * flock "+options+command)
			got := text(r)
			overlap := "skip" // the default, which the registry does not write
			for _, other := range []string{"queue", "allow"} {
				if strings.Contains(r.Registry, "overlap: "+other+"\n") {
					overlap = other
				}
			}
			if err != nil || overlap != want.overlap || !strings.Contains(got, want.note) || want.note == "" && strings.Contains(got, "gives up") {
				t.Errorf("flock %s%s: %v, want %+v\n%s", options, command, err, want, got)
			}
		}
	}
}

func TestFlockThatIsNotKnownIsRefused(t *testing.T) {
	for line, why := range map[string]string{
		"flock -q /tmp/l curl https://x.example.com/a":      "flock: the option -q is not known",
		"flock -w soon /tmp/l curl https://x.example.com/a": "flock: the option --wait needs a number of seconds",
		"flock -w 1m /tmp/l curl https://x.example.com/a":   "flock: the option --wait needs a number of seconds",
		"flock /tmp/l": "flock starts no command",
		"flock -n 9":   "flock starts no command",
	} {
		r, err := importCrontab(t, importer.Options{}, "0 3 * * * "+line)
		if !errors.Is(err, importer.ErrNothing) || !strings.Contains(text(r), why) {
			t.Errorf("%s: %v\n%s", line, err, text(r))
		}
	}
}

// Jobs that share a lock file exclude each other in the source; the table says that
// they do not in cronce.
func TestOneLockFileOfTwoLinesIsTold(t *testing.T) {
	r, err := importCrontab(t, importer.Options{},
		"LOCK=/tmp/l",
		"0 3 * * * flock -n /tmp/l curl https://x.example.com/a",
		"0 4 * * * flock $LOCK curl https://x.example.com/b",
		"0 5 * * * flock /tmp/other curl https://x.example.com/c",
		"0 6 * * * flock -s /tmp/l curl https://x.example.com/d",
		"0 7 * * * flock /tmp/l rsync a b")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, d := range r.Differences {
		if strings.Contains(d.Text, "one lock file") {
			told = append(told, d.Place()+" "+d.Job+" "+string(d.Aspect)+" "+d.Text[:strings.Index(d.Text, ",")])
		}
	}
	want := "crontab:2 a overlap flock uses one lock file for this job and b; crontab:3 b overlap flock uses one lock file for this job and a"
	if got := strings.Join(told, "; "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Lines with seconds are not a crontab's. With a user they must not become other
// schedules, and without one the reason must not be about a command.
func TestMoreThanFiveFieldsAreRefused(t *testing.T) {
	for _, fields := range []string{
		"0 0 3 * * *", "0 30 4 * * 1", "0 0 3 * * 1-5", "0 0 3 * * MON", "0 0 3 * * mon-fri", "0 0 3 * * mon,wed", "0 0 3 ? * ?", "0 0 3 1 1 */2", "0 0 3 * * 6L",
		"0 0 3 * * FRI#2", "0 0 3 * * 2026", "0 0 3 1 * 0/2", "@daily *", "0 0 3 * *\t*",
	} {
		for _, system := range []bool{true, false} {
			for _, user := range []string{" ", " root "} {
				r, err := importCrontab(t, importer.Options{System: system}, fields+user+"curl https://x.example.com/a")
				if got := text(r); !errors.Is(err, importer.ErrNothing) || strings.HasPrefix(fields, "0 0 3") && !strings.Contains(got, "more than five schedule fields") {
					t.Errorf("%s%s(system %v): %v\n%s", fields, user, system, err, got)
				}
			}
		}
	}
	for _, user := range []string{"root", "www-data", "sunny", "mona", "_apt", "app.worker", "7z"} {
		if r, err := importCrontab(t, importer.Options{System: true}, "0 3 * * * "+user+" curl https://x.example.com/a"); err != nil || r.Jobs != 1 {
			t.Errorf("the user %s: %v\n%s", user, err, text(r))
		}
	}
}

// Cron looks for a star at the first character of a field.
func TestAStarLaterInAFieldIsAListOfAll(t *testing.T) {
	for expression, plain := range map[string]string{
		"0 9 5,* * 1":    "0 9 * * *",   // either suffices, and one is every day
		"0 9 5 * 1,*":    "0 9 * * *",   // the same
		"0 9 5,* * 1,*":  "0 9 * * *",   // the same
		"0 9 *,5 * 1":    "0 9 * * 1",   // begins with a star
		"0 9 5,*/31 * 1": "0 9 1,5 * 1", // day 1 and 5, or Monday
		"0 9 */2 * 1,*":  "0 9 */2 * *", // both must match, and one is every day
		"5,* 9 * * *":    "* 9 * * *",
		"0 9,* * * *":    "0 * * * *",
		"1,*/30 9 * * *": "0,1,30 9 * * *",
	} {
		want := importedTimes(t, importer.Crontab, plain+" curl https://api.example.com/x\n")
		got := importedTimes(t, importer.Crontab, expression+" curl https://api.example.com/x\n")
		same(t, expression, got, want)
	}
	// To cron it has fixed times, which a clock change does not repeat.
	zone := "CRON_TZ=America/New_York\n"
	got := importedTimes(t, importer.Crontab, zone+"0,*/30 1 1 11 * curl https://api.example.com/x\n")
	want := importedTimes(t, importer.Crontab, zone+"0,30 1 1 11 * curl https://api.example.com/x\n")
	same(t, "0,*/30 1 on the day that repeats 01:00", got, want)
}

// Cron stops reading an item where cronce reads on, takes 0/15 for minute 0, or refuses the line.
func TestItemsThatCronReadsOtherwiseAreRefused(t *testing.T) {
	for _, fields := range []string{
		"0 9 * * 1#2", "0 9 * * mon#1", "0/15 * * * *", "1,5/20 * * * *", "0 9 L * *", "0 9 L-3 * *", "0 9 15W * *", "0 9 LW * *", "0 9 * * 5L", "0 9 * * friL",
		"0 9 ? * 1", "0 9 * * ?",
	} {
		r, err := importCrontab(t, importer.Options{}, fields+" curl https://x.example.com/a")
		if got := text(r); !errors.Is(err, importer.ErrNothing) || !strings.Contains(got, "steps of * or a range") {
			t.Errorf("%s: %v\n%s", fields, err, got)
		}
		got, err := importText(t, importer.PgCron, "select cron.schedule('x', '"+fields+"', $$select net.http_get('https://x.example.com/a')$$);")
		if !errors.Is(err, importer.ErrNothing) || !strings.Contains(got, "steps of * or a range") {
			t.Errorf("pg_cron, %s: %v\n%s", fields, err, got)
		}
	}
	if r, err := importCrontab(t, importer.Options{}, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25-59/2 9-17/2 */2 jan,MAR-may * curl https://x.example.com/a"); err != nil {
		t.Errorf("%v\n%s", err, text(r))
	}
}

// The shell puts values into a line before it sets the variables in front of the line's command.
func TestAVariableThatItsOwnLineSetsIsTheShellsEarlierOne(t *testing.T) {
	for command, want := range map[string]string{
		`HOST=api2 curl "https://x.example.com/a?q=$HOST"`:                   "the command sets a variable and uses it in the same line",
		`env HOST=api2 curl "https://x.example.com/a?q=$HOST"`:               "the command sets a variable and uses it in the same line",
		`HOST=api2 sh -c 'curl "https://x.example.com/a?q=$HOST"'`:           "/a?q=api2",
		`HOST=api2 flock /tmp/l -c 'curl "https://x.example.com/a?q=$HOST"'`: "/a?q=api2",
		`HOST=api2 curl "https://x.example.com/a?q=$OTHER"`:                  "/a?q=api1",
	} {
		r, err := importCrontab(t, importer.Options{}, "HOST=api1", "OTHER=api1", "0 3 * * * "+command)
		if got := text(r); !strings.Contains(got, want) || (err == nil) != strings.HasPrefix(want, "/") {
			t.Errorf("%s: %v, want %s\n%s", command, err, want, got)
		}
	}
}
