package field

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/suggest"
)

// foreign has lines of a name of a field or a value, and what other schedulers call it, in lower
// case. Of two lines with one name of theirs the first goes before.
var foreign = []string{
	"schedule cron crontab cronexpression scheduleexpression expression",
	"urlEnv url uri baseurl endpoint",
	"targetUrlEnv url uri baseurl",
	"path endpoint",
	"timezone tz zone scheduleexpressiontimezone",
	"overlap concurrencypolicy concurrency",
	"catchUp misfire misfirepolicy catchup",
	"catchUpWindow startingdeadlineseconds",
	"retry retries retryconfig retrypolicy backofflimit",
	"enabled suspend disabled paused",
	"body payload data input",
	"timeout deadline attemptdeadline activedeadlineseconds",
	"id name",
	"target service",
	"labels tags annotations",
	"description desc comment",
	"owner team",
	"spread jitter flexibletimewindow randomizeddelaysec randomdelay splay",
	"skip forbid drop replace",
	"queue wait",
	"allow parallel concurrent",
	"latest last one",
	"all every",
	"none never false",
	"bearer token",
	"sigv4 iam",
}

// DidYouMean suggests the word that another scheduler's name stands for, else the
// nearest one.
func DidYouMean(word string, words []string) string {
	theirs := strings.ToLower(word)
	for _, line := range foreign {
		if names := strings.Fields(line); slices.Contains(names[1:], theirs) && slices.Contains(words, names[0]) {
			return fmt.Sprintf("; did you mean %q?", names[0])
		}
	}
	return suggest.DidYouMean(word, words)
}

// barePlaceholder matches a value with a placeholder that is not in quotes: { begins a
// map.
var barePlaceholder = regexp.MustCompile(`[:\[,]\s+([^\s"'{},\[]*\s?\{\{\s*[A-Za-z]+\s*\}\})`)

// unQuoted explains a syntax error on a line with a schedule or a placeholder that lacks
// its quotes, or is empty. The column is the value's, from 1.
func unQuoted(line string) (message string, column int) {
	if message, column = suggest.ScheduleQuotes(line); message != "" {
		return message, column
	}
	if found := barePlaceholder.FindStringSubmatchIndex(line); found != nil {
		return fmt.Sprintf("a value with a placeholder needs quotes, because { begins a map in YAML; write e.g. %s",
			Quoted(line[found[2]:found[3]])), len([]rune(line[:found[2]])) + 1
	}
	return "", 0
}
