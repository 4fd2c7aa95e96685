package jobs_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

// forms of a key, and what a target takes that documents it.
var forms = map[jobs.KeyForm]*regexp.Regexp{
	jobs.KeyRunID:   regexp.MustCompile(`^[!-~]{1,128}$`),
	jobs.KeyUUID4:   regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
	jobs.KeyUUID7:   regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
	jobs.KeyHex32:   regexp.MustCompile(`^[0-9a-f]{32}$`),
	jobs.KeyToken22: regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`),
	jobs.KeyToken64: regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`),
}

// alphabets whose texts look like run IDs, like hashes of keys, or like each other.
var alphabets = []string{
	"ab", "aA", "_.-a", "@:~a", "_0123456789abcdefghijklmnopqrstuv", "é\u00e9e\u0301", "/%2F ", "\t\n\"\\{}", "日本語", "0:1Z-T@2026",
}

func randomKey(dice *rand.Rand) string {
	letters := []rune(alphabets[dice.IntN(len(alphabets))])
	var b strings.Builder
	for range 1 + dice.IntN([]int{4, 30, 60, 120}[dice.IntN(4)]) {
		b.WriteRune(letters[dice.IntN(len(letters))])
	}
	return b.String()
}

// Any two keys have different run IDs, also one that is what another is hashed to. In every
// form they are what a header and a target take.
func TestKeysOfAnyTextDoNotCollide(t *testing.T) {
	parents := []string{
		"bill@2026-11-01T03:00:00Z", "bill@2026-11-01T03:00:01Z", "bill2@2026-11-01T03:00:00Z",
		jobs.RunIDWithToken("bill", time.Unix(1793502000, 0), "0190c6a1-0000-7000-8000-000000000000"),
		jobs.RunIDWithToken(strings.Repeat("j", jobs.MaxEachID), time.Unix(0, 0), "0190c6a1-0000-7000-8000-000000000000"),
	}
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 0))
	owners := map[string]string{} // key in its form -> the member that has it
	check := func(parent, key string) {
		id, err := jobs.MemberRunID(parent, key)
		if err != nil {
			if jobs.CheckMemberKey(key) == nil {
				t.Errorf("seed %d: %q: %v", seed, key, err)
			}
			return
		}
		member := fmt.Sprintf("%q of %s", key, parent)
		for form, takes := range forms {
			sent := form.Of(id)
			if owner, taken := owners[sent]; taken && owner != member || !takes.MatchString(sent) {
				t.Fatalf("seed %d: %s has the key %q, as %s", seed, member, sent, owner)
			}
			owners[sent] = member
		}
		if _, _, _, err := jobs.ParseRunID(id); err != nil {
			t.Errorf("seed %d: %s: %v", seed, member, err)
		}
	}
	for range 1500 {
		key := randomKey(dice)
		for _, parent := range parents {
			check(parent, key)
			if id, err := jobs.MemberRunID(parent, key); err == nil { // what it is hashed to, as a key
				name, _, _ := strings.Cut(strings.SplitN(id, "::", 2)[1], "@")
				check(parent, name)
				check(parent, id)
			}
		}
	}
}

// A registry is accepted if the target takes the key of every member, and refused if not.
func TestKeysOfMembersFitTheirTarget(t *testing.T) {
	const file = `version: 1
name: n
targets: { svc: { urlEnv: SVC, key: { form: %s, max: %d } } }
jobs: [{ id: %s, target: svc, schedule: "0 3 * * *", path: "/t/{{key}}", each: { path: /tenants } }]`
	for form := range forms {
		for _, id := range []string{"b", "bill", strings.Repeat("j", jobs.MaxEachID)} {
			longest := 0
			for _, parent := range []string{
				jobs.RunID(id, time.Unix(0, 0)), jobs.RunIDWithToken(id, time.Unix(0, 0), "00000000-0000-0000-0000-000000000000"),
			} {
				for n := 1; n < 60; n++ {
					member, err := jobs.MemberRunID(parent, strings.Repeat("x", n))
					if err != nil {
						t.Fatal(err)
					}
					longest = max(longest, len(form.Of(member)))
				}
			}
			if _, err := jobs.Parse("jobs.yaml", fmt.Appendf(nil, file, form, longest, id)); err != nil {
				t.Errorf("keys of %s for %s have at most %d characters: %v", form, id, longest, err)
			}
			_, err := jobs.Parse("jobs.yaml", fmt.Appendf(nil, file, form, longest-1, id))
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("keys of the job can have %d characters", longest)) {
				t.Errorf("keys of %s for %s may have %d characters: %v", form, id, longest, err)
			}
		}
	}
}
