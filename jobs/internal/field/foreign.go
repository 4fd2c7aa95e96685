package field

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/suggest"
)

// foreign are names of fields and values in other schedulers, in lower case, and what
// they are called here.
var foreign = map[string][]string{
	"cron": {"schedule"}, "crontab": {"schedule"}, "cronexpression": {"schedule"}, "scheduleexpression": {"schedule"},
	"expression": {"schedule"},
	"url":        {"urlEnv", "targetUrlEnv"}, "uri": {"urlEnv", "targetUrlEnv"}, "baseurl": {"urlEnv", "targetUrlEnv"},
	"endpoint": {"urlEnv", "path"},
	"tz":       {"timezone"}, "zone": {"timezone"}, "scheduleexpressiontimezone": {"timezone"},
	"concurrencypolicy": {"overlap"}, "concurrency": {"overlap"}, "misfire": {"catchUp"}, "misfirepolicy": {"catchUp"}, "catchup": {"catchUp"},
	"startingdeadlineseconds": {"catchUpWindow"}, "retries": {"retry"}, "retryconfig": {"retry"}, "retrypolicy": {"retry"},
	"backofflimit": {"retry"},
	"suspend":      {"enabled"}, "disabled": {"enabled"}, "paused": {"enabled"}, "payload": {"body"}, "data": {"body"}, "input": {"body"},
	"deadline": {"timeout"}, "attemptdeadline": {"timeout"}, "activedeadlineseconds": {"timeout"}, "name": {"id"}, "service": {"target"},
	"tags": {"labels"}, "annotations": {"labels"}, "desc": {"description"}, "comment": {"description"}, "team": {"owner"},
	"jitter": {"spread"}, "flexibletimewindow": {"spread"}, "randomizeddelaysec": {"spread"}, "randomdelay": {"spread"}, "splay": {"spread"},
	"forbid": {"skip"}, "drop": {"skip"}, "replace": {"skip"}, "wait": {"queue"}, "parallel": {"allow"}, "concurrent": {"allow"},
	"last": {"latest"}, "one": {"latest"}, "every": {"all"}, "never": {"none"}, "false": {"none"}, "token": {"bearer"}, "iam": {"sigv4"},
}

// DidYouMean suggests the word that another scheduler's name stands for, else the
// nearest one.
func DidYouMean(word string, words []string) string {
	for _, ours := range foreign[strings.ToLower(word)] {
		if slices.Contains(words, ours) {
			return fmt.Sprintf("; did you mean %q?", ours)
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
