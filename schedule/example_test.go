package schedule_test

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/schedule"
)

func ExampleParse() {
	s, err := schedule.Parse("30 2 * * *", "America/New_York", schedule.DSTOnce)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Describe())
	at := time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC)
	for range 3 {
		at = s.Next(at)
		fmt.Println(at.Format(time.RFC3339), at.In(s.Location()).Format("15:04"))
	}
	// Output:
	// every day at 02:30, America/New_York
	// 2026-03-07T07:30:00Z 02:30
	// 2026-03-08T07:00:00Z 03:00
	// 2026-03-09T06:30:00Z 02:30
}

func ExampleParse_error() {
	_, err := schedule.Parse("0 0 * * 8", "", "")
	fmt.Println(err)
	// Output:
	// invalid day-of-week "8" (column 9): valid values: 0-7 or SUN-SAT; AWS cron() counts 1-7 from SUN
}

func ExampleSchedule_Due() {
	s, _ := schedule.Parse("0 9 * * 5L", "Europe/London", schedule.DSTOnce) // the last Friday
	watermark := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	for at := range s.Due(watermark, watermark.AddDate(0, 3, 0)) {
		fmt.Println(at.Format(time.RFC3339))
	}
	// Output:
	// 2026-09-25T08:00:00Z
	// 2026-10-30T09:00:00Z
	// 2026-11-27T09:00:00Z
}

func ExampleSchedule_Gaps() {
	s, _ := schedule.Parse("30 2 * * *", "America/New_York", schedule.DSTSkip)
	january := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for gap := range s.Gaps(january, january.AddDate(1, 0, 0)) {
		fmt.Println(gap.Local, gap.Zone, "jumped over at", gap.At.Format(time.RFC3339))
	}
	// Output:
	// 2026-03-08T02:30:00 America/New_York jumped over at 2026-03-08T07:00:00Z
}

func ExampleSchedule_AWS() {
	s, _ := schedule.Parse("0 9 * * 1-5", "Europe/London", schedule.DSTSkip)
	aws, err := s.AWS()
	fmt.Println(aws.Expression, aws.Timezone, err)
	// Output:
	// cron(0 9 ? * 2-6 *) Europe/London <nil>
}
