package views

import "strings"

// shortcut is a line of the help on keys.
type shortcut struct {
	keys []string
	does string
}

var shortcuts = []shortcut{
	{[]string{"?"}, "show this help"},
	{[]string{"/"}, "find a job"},
	{[]string{"g", "h"}, "go to triage"},
	{[]string{"g", "j"}, "go to jobs"},
	{[]string{"g", "i"}, "go to incidents"},
	{[]string{"g", "q"}, "go to queues"},
	{[]string{"g", "w"}, "go to workers"},
	{[]string{"g", "o"}, "go to operations"},
	{[]string{"g", "a"}, "go to the audit"},
	{[]string{"j", "k"}, "next, previous row"},
	{[]string{"Enter"}, "open the row"},
	{[]string{"x"}, "tick the row"},
	{[]string{"n"}, "show rows that wait"},
	{[]string{"r"}, "requeue this job"},
	{[]string{"t"}, "terminate this job"},
	{[]string{"p"}, "pause, resume or drain what the page is about"},
	{[]string{"Esc"}, "close, leave a field"},
}

// topicList is the value of an attribute that lists topics; no topic contains
// a space.
func topicList(topics []string) string { return strings.Join(topics, " ") }
