package schedule_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/schedule"
)

// The golden file says each schedule in words. After a change that is meant,
// run: UPDATE_GOLDEN=1 go test ./schedule -run Describe
func TestDescribe(t *testing.T) {
	exprs := []string{
		"* * * * *", "*/5 * * * *", "0/15 * * * *", "*/7 * * * *", "0 * * * *", "30 * * * *", "0,30 * * * *", "5-10 * * * *",
		"0 */2 * * *", "15 */6 * * *", "*/10 */2 * * *", "*/10 9-17 * * MON-FRI", "* 9 * * *", "5,35 9-17 * * *", "* * 1 * *",
		"0 3 * * *", "30 9,17 * * *", "0 0 * * 0", "0 9 * * 1-5", "0 9 * * MON,WED,FRI", "0 9 * * 6,7", "0 0 1 * *", "0 0 1,15 * *",
		"0 0 1-7 * *", "0 0 13 * 5", "0 0 L * *", "0 0 L-2 * *", "0 0 L-1 * *", "0 0 15W * *", "0 0 LW * *", "0 0 1,L * *", "0 0 * * 5#3",
		"0 0 * * 5L", "0 0 1 1 *", "0 0 1 1,7 *", "0 0 1 6-8 *", "0 12 29 2 *", "0 0 */2 * *", "*/20 * * * * *", "* * * * * *", "30 * * * * *",
		"15 0 3 * * *", "*/10 0 3 * * *", "0,30 */5 * * * *", "*/30 * 9 * * *", "5 */10 9 * * *",
		"5 30 * * * *", "*/10 5 * * * *",
		"@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@every 5m", "@every 90s", "@every 1h30m", "@every 36h",
		"rate(1 minute)", "rate(5 minutes)", "rate(1 hour)", "rate(7 hours)", "rate(1 day)", "rate(10 days)", "at(2026-11-21T03:00:00)",
		"cron(0 * * * ? *)", "cron(0 10 ? * 2-6 *)", "cron(0 10 ? * L *)", "cron(15 10 ? * 6L 2026-2029)", "cron(0 0 1 1 ? 2026,2028)",
		"CRON_TZ=Europe/London 30 1 * * *",
	}
	var out strings.Builder
	for _, expr := range exprs {
		s := parse(t, expr, "", schedule.DSTSkip)
		fmt.Fprintf(&out, "%-34s %s\n", expr, s.Describe())
	}
	golden := filepath.Join("testdata", "describe.golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(wanted)) {
		if i >= len(got) || i >= len(wanted) || got[i] != wanted[i] {
			t.Fatalf("line %d\n got %q\nwant %q", i+1, got[min(i, len(got)-1)], wanted[min(i, len(wanted)-1)])
		}
	}
}
